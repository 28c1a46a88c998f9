-- The seats that have a turn, by ring: a tier, or a tenant that has a turn there. `visit` replaces
-- each seat that it checks with its lane, or with its tenant.
local rings, seats, active = {}, {}, {} -- active: tiers that have any
local tenants -- by the key of their ring, if any
for t = 0, 3 do
  rings[t] = base .. ':ring:' .. t
  seats[t] = redis.call('LRANGE', rings[t], 0, reach - 1)
  if #seats[t] > 0 then active[#active + 1] = t end
end
local rooms, extra, alone, learn -- of managed groups, where there are any
if managed then
  -- uses: ours, claim/rooms
  redis.call('ZCARD', base .. ':dl') -- `tune` touches it, and the tokens
  ours('LLEN', base .. ':wk')
end
