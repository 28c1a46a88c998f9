-- uses: clock, tenant_of
-- As give_seat, where the next turn is
local function give_next_turn(lane)
  local ring, tenant = lane.ring or lane.tier, tenant_of(lane.group)
  local since = string.format('%011x', math.max(now, lane.since or 0))
  local seat = lane.tier .. since .. lane.group
  if tenant then
    if redis.call('LPUSH', base .. ':tr:' .. ring .. ':' .. tenant, seat) > 1 then return end
    seat = ring + 4 .. since .. tenant
  end
  redis.call('LPUSH', base .. ':ring:' .. ring, seat)
end
