-- uses: shares, add, wake, give_seat, count_able, place_of
-- After each change of a managed group: count what may be claimed of it now, and give lanes that
-- are out their seats when something may. Returns how many. owning: nobody need be told
local function tune(group, owning)
  local g, mg = base .. ':g:' .. group, base .. ':mg'
  local f = redis.call('HMGET', g, unpack(SETTINGS))
  if not f[7] or redis.call('HEXISTS', mg, group) == 0 then return 0 end
  local waiting, sum = {}, 0
  for t = 0, 3 do waiting[t] = math.max(0, whole(f[9 + t])) end
  local room, able, state, apart = shares(f, waiting)
  local was = f[7] == 'held' and 'held' or 'capped'
  if state ~= was then add(c, was, 0 - whole(f[8])) end
  add(c, state, apart - (state == was and whole(f[8]) or 0))
  for t = 0, 3 do
    if able[t] ~= whole(f[13 + t]) then
      count_able((place_of({f[22]}, t)), group, able[t] - whole(f[13 + t]))
    end
    sum = sum + able[t]
  end
  redis.call('HSET', g, 'state', state, 'apart', apart, 'c0', able[0], 'c1', able[1],
    'c2', able[2], 'c3', able[3])
  local over = whole(f[5]) <= 0 -- then only marks stand in its lanes
  if over then redis.call('HDEL', mg, group) else redis.call('HSET', mg, group, room) end
  for t = 0, (room > 0 or over) and 3 or -1 do
    if f[17 + t] then
      redis.call('HDEL', g, 'o' .. t)
      local lane = {tier = t, group = group}
      lane.ring, lane.since = place_of({f[22], f[23]}, t)
      give_seat(lane)
      if not owning then wake('w') end
    end
  end
  return sum
end
