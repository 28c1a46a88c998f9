-- uses: give_seat
-- More bytes than planned, from bodies or ids that our scripts did not write. What does not fit,
-- and everything after it, returns to the front of its lane. An oversized body is sent without its
-- end, so that its job is buried. An id longer than any valid one is deleted, as if it were a mark.
local function put_back()
  local places, kept, unfit, texts, names, sum = {}, 0, {}, {}, {}, nil
  for _, t in ipairs(active) do
    for i = 1, served[t] do
      for _ = 1, lanes[t][i].take do places[#places + 1] = lanes[t][i] end
    end
  end
  for k, id in ipairs(ids) do
    local body = bodies[k]
    if body and #id > 4096 then
      redis.call('HDEL', base .. ':j', id)
      body = false
    end
    if body and sum and (#unfit > 0 or sum + #body + math.max(0, #id - 64) > budget) then
      local lane = places[k]
      local home = lane.home
      unfit[#unfit + 1], taken[home], lane.take = k, taken[home] - 1, lane.take - 1
    else
      if body then sum = (sum or 0) + #body + math.max(0, #id - 64) end
      if body and #body > 67108864 then -- 64 MiB
        body = string.sub(body, 1, 82) -- the longest header
      end
      kept = kept + 1
      names[kept], texts[kept] = id, body
    end
  end
  for u = #unfit, 1, -1 do
    local lane = places[unfit[u]]
    local home, room = lane.home, lane.room or {}
    if redis.call('LPUSH', lane.key, ids[unfit[u]]) == 1 then
      local ring = room.place or rings[tonumber(home)] and home or '2'
      give_seat({tier = home, group = lane.group, ring = ring, since = room.moved})
    end
  end
  if not full then redis.call('HDEL', c, 'largest') end -- wrong, or the sizes were known
  ids, bodies, count, full = names, texts, kept, true
end
