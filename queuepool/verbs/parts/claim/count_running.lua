-- The record of a tenant counts its jobs that are in flight.
-- uses: group_of, tenant_of, add
local begun_of = {}
for k = 1, n do
  local tenant = tenant_of(group_of(texts[k]))
  if tenant then begun_of[tenant] = (begun_of[tenant] or 0) + 1 end
end
for tenant, jobs in pairs(begun_of) do add(base .. ':tn:' .. tenant, 'run', jobs) end
