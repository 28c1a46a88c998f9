-- uses: add, tenant_of, note_able
-- n more jobs of a group may be claimed, unless its tenant is held
local function count_able(tier, group, n)
  local tenant = tenant_of(group)
  if tenant then note_able(tenant, tier, n) end
  local held = tenant and redis.call('HEXISTS', base .. ':tn:' .. tenant, 'hold') == 1
  add(c, held and 'held' or 'r' .. tier, n)
end
