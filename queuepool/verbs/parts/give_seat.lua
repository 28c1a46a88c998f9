-- uses: clock
-- For a lane, at the back of its ring, or where the next turn is. lane: tier and group; and ring,
-- when that is not the one of its tier
local function give_seat(lane, next_turn)
  local ring = base .. ':ring:' .. (lane.ring or lane.tier)
  local seat = lane.tier .. string.format('%011x', now) .. lane.group
  if next_turn then redis.call('LPUSH', ring, seat) else redis.call('RPUSH', ring, seat) end
end
