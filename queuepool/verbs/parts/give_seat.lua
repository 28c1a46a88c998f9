-- uses: clock, tenant_of
-- For a lane, at the back of its ring. lane: tier and group; and ring, when that is not the one of
-- its tier. A lane of a tenant has it in the tenant's ring, and the tenant has one in that of the
-- tier.
local function give_seat(lane)
  local since, tenant = string.format('%011x', now), tenant_of(lane.group)
  local seat = lane.tier .. since .. lane.group
  if tenant then
    if redis.call('RPUSH', base .. ':tr:' .. lane.tier .. ':' .. tenant, seat) > 1 then return end
    seat = lane.tier + 4 .. since .. tenant
  end
  redis.call('RPUSH', base .. ':ring:' .. (lane.ring or lane.tier), seat)
end
