-- At the end of a round, of up to 200 managed groups: entries without such a group, and those whose
-- jobs are miscounted, in lanes of up to 1,000 ids.
-- uses: shares, audit/shut, place_of
local names, apart, right, rooms, standing = {}, {}, {}, {}, {[0] = 0, 0, 0, 0}
local able_of = {}
local sums, recounted = {held = 0, capped = 0}, page[1] == '0' and redis.call('HLEN', mg) <= 200
if recounted then names = redis.call('HKEYS', mg) end
for _, group in ipairs(recounted and unlisted or {}) do names[#names + 1] = group end
local wrongs = 0
for _, group in ipairs(names) do
  local g = base .. ':g:' .. group
  local f, waiting = ours('HMGET', g, unpack(SETTINGS)) or {}, {}
  -- Only operators write `mv`: what else says that a group is on its way would hold it for good
  if f[24] and redis.call('SISMEMBER', base .. ':mv', group) == 0 then
    strays[#strays + 1], f[24] = {g, 'moving'}, false
  end
  apart[group] = f[7] and whole(f[5]) > 0
  if not apart[group] then strays[#strays + 1] = {mg, group} end
  for t = 0, apart[group] and 3 or -1 do
    local key = lane_key({tier = t, group = group})
    local size = ours('LLEN', key) or 0
    waiting[t] = whole(f[9 + t])
    if size <= 1000 then
      waiting[t] = 0
      for _, id in ipairs(size > 0 and redis.call('LRANGE', key, 0, -1) or {}) do
        waiting[t] = waiting[t] + redis.call('HEXISTS', j, id)
      end
      for _, job in ipairs(lost) do
        waiting[t] = waiting[t] + (lane_key(job.lane) == key and 1 or 0)
      end
    end
  end
  if apart[group] then
    local room, able, state, rest = shares(f, waiting)
    sums[state], able_of[group] = sums[state] + rest, {[0] = 0, 0, 0, 0}
    local wrong = state ~= f[7] or rest ~= whole(f[8])
    for t = 0, 3 do
      local place = tonumber((place_of({f[22]}, t)))
      able_of[group][place] = able_of[group][place] + able[t]
      if not is_shut(group) then standing[place] = standing[place] + able[t] end
      wrong = wrong or waiting[t] ~= whole(f[9 + t]) or able[t] ~= whole(f[13 + t])
    end
    if wrong then
      wrongs = wrongs + 1
      right[#right + 1] = {group, 'state', state, 'apart', rest, 'w0', waiting[0], 'w1', waiting[1],
        'w2', waiting[2], 'w3', waiting[3], 'c0', able[0], 'c1', able[1], 'c2', able[2],
        'c3', able[3]}
    end
    if whole(redis.call('HGET', mg, group)) ~= room then rooms[group] = room end
  end
end
-- uses: audit/tenants
local held, capped = unpack(redis.call('HMGET', c, 'held', 'capped'))
local gap = recounted and whole(held) + whole(capped) - sums.held - sums.capped or 0
recounted = recounted and (#right > 0 or next(rooms) ~= nil
  or sums.held ~= whole(held) or sums.capped ~= whole(capped))
if recounted and (wrongs > 0 or #unlisted == 0) then miscounted = miscounted + 1 end
