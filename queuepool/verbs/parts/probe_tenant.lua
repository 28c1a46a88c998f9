-- uses: tenant_of, ours
-- Before the first write: what is named after the tenant of a group, and what `tune_tenant` touches
local probed = {}
local function probe_tenant(group)
  local tenant = tenant_of(group)
  if not tenant or probed[tenant] then return end
  probed[tenant] = true
  redis.call('HLEN', base .. ':mt')
  ours('HLEN', base .. ':tn:' .. tenant)
  ours('HLEN', base .. ':tt:' .. tenant)
  ours('LLEN', base .. ':wk')
  for t = 0, 3 do
    ours('LLEN', base .. ':tr:' .. t .. ':' .. tenant)
    redis.call('LLEN', base .. ':ring:' .. t)
  end
end
