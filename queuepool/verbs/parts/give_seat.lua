-- uses: clock, tenant_of
-- For a lane, at the back of its ring. lane: tier and group; and ring, when that is not the one of
-- its tier, and since, the least stamp of the seat. A lane of a tenant has it in the tenant's ring,
-- and the tenant has one in that of the tier.
local function give_seat(lane)
  local ring, tenant = lane.ring or lane.tier, tenant_of(lane.group)
  local since = string.format('%011x', math.max(now, lane.since or 0))
  local seat = lane.tier .. since .. lane.group
  if tenant then
    if redis.call('RPUSH', base .. ':tr:' .. ring .. ':' .. tenant, seat) > 1 then return end
    seat = ring + 4 .. since .. tenant
  end
  redis.call('RPUSH', base .. ':ring:' .. ring, seat)
end
