-- At their gates: jobs that are in no lane there, and lanes without a seat in the ring of the gate.
-- uses: gate_of, add, place_of
local adrift, unseated_there, unlisted_there, gated, unnoted = {}, {}, {}, {}, {}
-- Whether a job is parked; notes what is wrong with it
local function is_parked(id, lane)
  local state, gate = gate_of(redis.call('HGET', base .. ':lm', id))
  if state ~= 'p' then
    local name = lane.tier .. ':' .. lane.group -- where claims are to look for limits
    if state and redis.call('SISMEMBER', base .. ':ll', name) == 0 then
      unnoted[#unnoted + 1] = name
    end
    return false
  end
  local place = lane.tier .. ':' .. gate
  local key = base .. ':gq:' .. place .. '~' .. lane.group
  local ring, size = nil, ours('LLEN', key) or 0
  if size == 0 or size <= 1000 and not redis.call('LPOS', key, id) then
    adrift[#adrift + 1] = {key = key, id = id, gate = gate}
  end
  if not gated[key] then
    gated[key] = true
    local moved = ours('HMGET', base .. ':g:' .. lane.group, 'tier', 'moved') or {}
    local seated = false -- of a group that changed its tier perhaps elsewhere
    for t = moved[2] and 0 or lane.tier, moved[2] and 3 or lane.tier do
      local there = base .. ':gr:' .. t .. ':' .. gate
      seated = seated or (ours('LLEN', there) or 0) > 1000 or ours('LPOS', there, lane.group)
    end
    if not seated then
      ring = base .. ':gr:' .. (place_of(moved, lane.tier)) .. ':' .. gate
      unseated_there[#unseated_there + 1] = {ring = ring, group = lane.group}
    end
    if ours('SISMEMBER', base .. ':gg:' .. lane.group, place) ~= 1 then
      unlisted_there[#unlisted_there + 1] = {group = lane.group, place = place}
    end
  end
  return true
end
local function put_at_gates()
  for _, name in ipairs(unnoted) do redis.call('SADD', base .. ':ll', name) end
  for _, job in ipairs(adrift) do redis.call('RPUSH', job.key, job.id) end
  for _, seat in ipairs(unseated_there) do redis.call('RPUSH', seat.ring, seat.group) end
  for _, lane in ipairs(unlisted_there) do
    redis.call('SADD', base .. ':gg:' .. lane.group, lane.place)
  end
end
