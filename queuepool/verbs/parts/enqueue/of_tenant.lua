-- uses: probe_tenant
local tenant = group and string.find(tier, '^[4-7]$') and tenant_of(group)
if not tenant then return {'REFUSED', 'run', 0, 0} end
tier = tier - 4 .. ''
ARGV[i] = tier
tenants = tenants or {}
tenants[group] = tenant
probe_tenant(group)
