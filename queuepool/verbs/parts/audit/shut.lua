-- Tenants that are held or bounded: their records tell what counts as ready of them. known: tenants
-- to recount
-- uses: tenant_shares
local shut, known, mt = {}, {}, base .. ':mt'
for _, tenant in ipairs(redis.call('HLEN', mt) <= 200 and redis.call('HKEYS', mt) or {}) do
  known[tenant] = true
  if ours('HEXISTS', base .. ':tn:' .. tenant, 'state') == 1 then shut[tenant] = true end
end
local function is_shut(group) return shut[tenant_of(group) or ''] end
