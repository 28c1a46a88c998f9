-- uses: park, seek_place
-- Those of new jobs of a group that name limits wait at their gates, unless they are delayed, or of
-- a serial group, which keeps its order: claims take them there. Returns the others.
local function to_gates(ids, tier, group, delay)
  local stay, sent = {}, {}
  local serial = redis.call('HEXISTS', base .. ':g:' .. group, 'serial') == 1
  local lane = {tier = tier, group = group, ring = tier}
  if known[4] then seek_place(lane) end
  for _, id in ipairs(ids) do
    local gate = gates[id]
    if gate and (delay > 0 or serial) then
      redis.call('HSET', base .. ':lm', id, '0|' .. gate)
      if delay <= 0 then redis.call('SADD', base .. ':ll', tier .. ':' .. group) end
      stay[#stay + 1] = id
    elseif gate then
      sent[gate] = sent[gate] or {}
      sent[gate][#sent[gate] + 1] = id
    else
      stay[#stay + 1] = id
    end
  end
  for gate, parked in pairs(sent) do park(gate, tier, group, parked, nil, lane.ring) end
  return stay
end
fresh = to_gates(fresh, tier, group, delay)
n = #fresh
