-- The seats that have a turn, by ring: a tier, or a tenant that has a turn there. `visit` replaces
-- each seat that it checks with its lane, or with its tenant. Rare things are fields of `seats`:
-- each local that a function uses costs time in every call. seats.tenants: by the key of their ring
local rings, seats, active = {}, {}, {} -- active: tiers that have any
local last = string.format('%d', reach - 1) -- redis.call would take longer to write it, four times
for t = 0, 3 do
  rings[t] = base .. ':ring:' .. t
  seats[t] = redis.call('LRANGE', rings[t], '0', last)
  if #seats[t] > 0 then active[#active + 1] = t end
end
if shortest then
  -- uses: claim/shortest
end
-- Of managed groups and tenants, if any: how many jobs may be taken (seats.bounds: of tenants). By
-- ring: turns that their weights add, whether it has one lane. marked: marks may be in lanes
local rooms, extra, alone
if managed or bounded or marked then
  -- uses: whole, ours
  extra, alone = {}, {}
  for _, t in ipairs(active) do extra[t], alone[t] = 0, redis.call('LLEN', rings[t]) == 1 end
  if bounded then
    -- uses: claim/bounds
    seats.bounds = bounds
  end
end
if managed or marked then
  -- uses: ours, claim/rooms
  redis.call('ZCARD', base .. ':dl') -- `tune` touches it
end
