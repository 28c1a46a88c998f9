-- uses: ours, whole, give_seat, place_of, lane_key
-- The lanes of a group have their turns where its tier says from now on: they get new seats there,
-- and those that they had do not count any more
local function renew_seats(group)
  local g = base .. ':g:' .. group
  local f = ours('HMGET', g, 'tier', 'moved', 'o0', 'o1', 'o2', 'o3') or {}
  local _, moved = place_of(f)
  moved = math.max(now, moved) + 1 -- above the stamp of every seat
  redis.call('HSET', g, 'moved', string.format('%.0f', moved))
  redis.call('HSET', base .. ':c', 'rare', 1) -- claims ask, also when only marks are left
  for t = 0, 3 do
    local lane = {tier = t, group = group, since = moved}
    lane.ring = place_of(f, t)
    if not f[3 + t] and (ours('LLEN', lane_key(lane)) or 0) > 0 then give_seat(lane) end
  end
end
