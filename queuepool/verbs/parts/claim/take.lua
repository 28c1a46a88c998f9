-- Takes ids from their lanes, and the lanes' seats from their rings.
local ids, count, taken, more = {}, 0, {}, false -- taken: by tier; more: of seats, perhaps
local byte, texts = string.byte, {} -- texts: of numbers, since redis.call takes long to write one
local again, cut, back, stamp -- seats by place, if any, for reseat: the tier, or a tenant's ring
if seats.lined then
  -- uses: claim/line_up_ring
end
for _, t in ipairs(active) do
  local most
  for i = 1, served[t] do
    local lane = lanes[t][i]
    local home = lane.home
    if byte(lane.group) == 255 then seats.tenants = seats.tenants or {} end -- it may be a tenant's
    if lane.take > 0 then
      local before, many = count, texts[lane.take] or string.format('%d', lane.take)
      texts[lane.take] = many
      for _, id in ipairs(redis.call('LPOP', lane.key, many) or {}) do
        count = count + 1
        ids[count] = id
      end
      lane.take = count - before -- less if the lane has two seats
      taken[home] = (taken[home] or 0) + lane.take
    end
    if lane.size > lane.take and lane.room and lane.room.taken >= lane.room.most then
      redis.call('HSET', lane.room.record, 'o' .. home, 1)
    elseif lane.size > lane.take then
      if not stamp then again, cut, back, stamp = {}, {}, {}, string.format('%011x', now) end
      local place, had = lane.place or home, lane.taken or lane.take
      local rest = lane.left or lane.size - lane.take
      local turn = lane.room and had / lane.room.weight or had
      local first = most or turn
      if lane.of then
        -- uses: claim/lane_of_tenant
      else
        most = first
      end
      local list = turn < first and cut or back -- cut: by the end of the share, so it is next
      if rest <= 16 and rest % 2 == 1 and had % 2 == 1 then list = again end -- soon empty
      if lane.room then
        if lane.owed > 0 then list = again end -- the rest of its turn comes first
        if lane.owed ~= lane.room.owed[home] then
          redis.call('HSET', lane.room.record, 't' .. home, lane.owed)
        end
      end
      list[place] = list[place] or {}
      list[place][#list[place] + 1] = home .. (lane.since or stamp) .. lane.group
    end
    more = more or lane.length and lane.size > 0
      and not (lane.room and lane.room.taken >= lane.room.most)
  end
  redis.call('LPOP', rings[t], visited[t])
  more = more or visited[t] >= limit
  if quota['k' .. t] then redis.call('HSET', c, 'k' .. t, quota['k' .. t]) end
end
if seats.tenants then
  for ring, tenant in pairs(seats.tenants) do
    if (visited[tenant] or 0) > 0 then redis.call('LPOP', ring, visited[tenant]) end
  end
end
