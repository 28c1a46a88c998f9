-- uses: tenant_of, ours
-- Before the first write: what is named after the tenant of a group
local function probe_tenant(group)
  local tenant = tenant_of(group)
  if tenant then ours('HLEN', base .. ':tn:' .. tenant) end
  for t = 0, tenant and 3 or -1 do ours('LLEN', base .. ':tr:' .. t .. ':' .. tenant) end
end
