-- The record of a tenant counts its jobs that may be claimed; of managed groups `tune` does. Of a
-- tenant that is held or bounded `tune_tenant` counts those in r0-r3.
-- uses: group_of, tier_of, tenant_of, note_able
local gone = {}
for k = 1, count do
  local group = bodies[k] and group_of(bodies[k])
  local tenant = group and not (rooms and rooms[group]) and tenant_of(group)
  if tenant then
    local tier = tier_of(bodies[k])
    gone[tenant] = gone[tenant] or {}
    gone[tenant][tier] = (gone[tenant][tier] or 0) + 1
  end
end
for tenant, jobs in pairs(gone) do
  local tuned = bounded and redis.call('HEXISTS', base .. ':tn:' .. tenant, 'state') == 1
  if tuned then seats.bounds[tenant] = seats.bounds[tenant] or {taken = 1} end
  for tier, n in pairs(jobs) do
    note_able(tenant, tier, -n)
    if tuned then taken[tier] = taken[tier] - n end
  end
end
