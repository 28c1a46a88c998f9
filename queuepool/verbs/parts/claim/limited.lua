-- Jobs that name limits and were not admitted by this owner wait at their gates: those that ran
-- before at the front.
-- uses: group_of, tier_of, add, gate_of, park, unadmit
limits = {}
local parked, again = {}, {}
for k, said in ipairs(redis.call('HMGET', base .. ':lm', unpack(ids))) do
  local state, gate = gate_of(said)
  if bodies[k] and state then
    if string.find(state, '^[1-9]') then unadmit(gate) end
    if state == ARGV[2] then
      limits[#limits + 1], limits[#limits + 2] = ids[k], gate
      redis.call('HSET', base .. ':lm', ids[k], 'c|' .. gate)
    else
      local list = state == '0' and parked or again
      list[#list + 1] = {id = ids[k], gate = gate, body = bodies[k], front = state ~= '0'}
      bodies[k] = nil -- no mark: it leaves the count of ready jobs only now
    end
  end
end
for k = #again, 1, -1 do parked[#parked + 1] = again[k] end
for _, job in ipairs(parked) do
  local group, tier = group_of(job.body), tier_of(job.body)
  park(job.gate, tier, group, {job.id}, job.front)
  local g = base .. ':g:' .. group
  if rooms and rooms[group] then
    taken[tier] = taken[tier] - 1
    add(g, 'w' .. tier, -1)
    if redis.call('HEXISTS', g, 'serial') == 1 then -- those that were there before it come first
      local waiting = base .. ':gq:' .. tier .. ':' .. job.gate .. '~' .. group
      redis.call('HSET', g, 'rt', redis.call('LINDEX', waiting, 0))
    end
  end
end
