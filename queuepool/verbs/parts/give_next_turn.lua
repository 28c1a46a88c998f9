-- uses: clock, tenant_of
-- As give_seat, where the next turn is
local function give_next_turn(lane)
  local since, tenant = string.format('%011x', now), tenant_of(lane.group)
  local seat = lane.tier .. since .. lane.group
  if tenant then
    if redis.call('LPUSH', base .. ':tr:' .. lane.tier .. ':' .. tenant, seat) > 1 then return end
    seat = lane.tier + 4 .. since .. tenant
  end
  redis.call('LPUSH', base .. ':ring:' .. lane.tier, seat)
end
