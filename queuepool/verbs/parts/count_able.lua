-- uses: add, tenant_of, note_able, tune_tenant
-- n more jobs of a group may be claimed, unless its tenant has no room
local function count_able(tier, group, n)
  local tenant = tenant_of(group)
  if tenant then note_able(tenant, tier, n) end
  if tenant and redis.call('HEXISTS', base .. ':tn:' .. tenant, 'state') == 1 then
    tune_tenant(tenant)
  else
    add(c, 'r' .. tier, n)
  end
end
