-- uses: tenant_of, add
-- n jobs of a group have ended: the totals of its tenant, if any, are kept for a day after the last
local function tally(group, as, n)
  local tenant = tenant_of(group)
  if not tenant then return end
  add(base .. ':tt:' .. tenant, as, n)
  redis.call('PEXPIRE', base .. ':tt:' .. tenant, 86400000)
end
