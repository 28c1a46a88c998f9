-- uses: add
-- n more jobs of a tenant may be claimed, as far as their groups are concerned
local function note_able(tenant, tier, n)
  local record = base .. ':tn:' .. tenant
  if add(record, 'e' .. tier, n) == 0 then redis.call('HDEL', record, 'e' .. tier) end
end
