-- Takes ids from their lanes, and the lanes' seats from their rings.
local ids, count, taken, more = {}, 0, {}, false -- taken: by tier; more: of seats, perhaps
local again, cut, back, stamp -- seats by tier, if any, for reseat
for _, t in ipairs(active) do
  local most
  for i = 1, served[t] do
    local lane = lanes[t][i]
    local home = lane.home
    if lane.take > 0 then
      local before = count
      for _, id in ipairs(redis.call('LPOP', lane.key, lane.take) or {}) do
        count = count + 1
        ids[count] = id
      end
      lane.take = count - before -- less if the lane has two seats
      taken[home] = (taken[home] or 0) + lane.take
    end
    if lane.size > lane.take and lane.room and lane.room.taken >= lane.room.most then
      redis.call('HSET', base .. ':g:' .. lane.group, 'o' .. home, 1)
    elseif lane.size > lane.take then
      if not stamp then again, cut, back, stamp = {}, {}, {}, string.format('%011x', now) end
      local rest, turn = lane.size - lane.take, lane.take / (lane.room and lane.room.weight or 1)
      most = most or turn
      local list = turn < most and cut or back -- cut: by the end of the share, so it is next
      if rest <= 16 and rest % 2 == 1 and lane.take % 2 == 1 then list = again end -- soon empty
      if lane.room then
        if lane.owed > 0 then list = again end -- the rest of its turn comes first
        if lane.owed ~= lane.room.owed[home] then
          redis.call('HSET', base .. ':g:' .. lane.group, 't' .. home, lane.owed)
        end
      end
      list[home] = list[home] or {}
      list[home][#list[home] + 1] = home .. stamp .. lane.group
    end
  end
  redis.call('LPOP', rings[t], served[t])
  more = more or served[t] >= limit
  if quota['k' .. t] then redis.call('HSET', c, 'k' .. t, quota['k' .. t]) end
end
