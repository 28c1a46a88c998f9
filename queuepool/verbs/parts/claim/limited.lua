-- Jobs that name limits and were not admitted by this owner wait at their gates: those that ran
-- before at the front.
-- uses: group_of, tier_of, add, gate_of, park, unadmit
-- It comes before the others, and behind those that came back before it
local function go_back(waiting, lane, id)
  local last = redis.call('HGET', base .. ':gk', lane)
  local size = last and redis.call('LINSERT', waiting, 'AFTER', last, id) or 0
  redis.call('HSET', base .. ':gk', lane, id)
  return size > 0 and size or redis.call('LPUSH', waiting, id)
end
-- Those that were at the gate before it come first; of some, only the id is left
local function first_at(waiting, id)
  for _, other in ipairs(redis.call('LRANGE', waiting, 0, 7)) do
    if redis.call('HEXISTS', base .. ':j', other) == 1 then return other end
  end
  return id
end
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
      local back = state ~= '0' and go_back
      local list = back and again or parked
      list[#list + 1] = {id = ids[k], gate = gate, body = bodies[k], back = back}
      bodies[k] = nil -- no mark: it leaves the count of ready jobs only now
    end
  end
end
for _, job in ipairs(again) do parked[#parked + 1] = job end
for _, job in ipairs(parked) do
  local group, tier = group_of(job.body), tier_of(job.body)
  local g, room = base .. ':g:' .. group, rooms and rooms[group]
  park(job.gate, tier, group, {job.id}, job.back, room and room.place)
  if room then
    taken[tier] = taken[tier] - 1
    add(g, 'w' .. tier, -1)
    if redis.call('HEXISTS', g, 'serial') == 1 then
      local waiting = base .. ':gq:' .. tier .. ':' .. job.gate .. '~' .. group
      redis.call('HSET', g, 'rt', first_at(waiting, job.id))
    end
  end
end
-- Lanes that are empty now have none of them. Of a seat that was dropped, as the group has changed
-- its tier since, nothing was taken: its lane may have jobs.
for _, t in ipairs(active) do
  for i = 1, served[t] do
    local lane = lanes[t][i]
    if lane.limited and lane.take > 0 and lane.take >= lane.size then
      redis.call('SREM', base .. ':ll', lane.home .. ':' .. lane.group)
    end
  end
end
