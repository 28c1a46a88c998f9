-- uses: tenant_of, add, tune_tenant
-- n jobs of a group are in flight no more: its tenant, if any, may have room now
local function leave(group, n)
  local tenant = tenant_of(group)
  if not tenant then return end
  local record = base .. ':tn:' .. tenant
  if add(record, 'run', 0 - n) <= 0 then redis.call('HDEL', record, 'run') end
  tune_tenant(tenant)
end
