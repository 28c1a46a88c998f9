-- Tenants that are held: what might be claimed of them counts as held. known: tenants to recount
local shut, known, mt = {}, {}, base .. ':mt'
for _, tenant in ipairs(redis.call('HLEN', mt) <= 200 and redis.call('HKEYS', mt) or {}) do
  known[tenant] = true
  if ours('HEXISTS', base .. ':tn:' .. tenant, 'hold') == 1 then shut[tenant] = true end
end
local function is_shut(group) return shut[tenant_of(group) or ''] end
