wake = wake or idle
local held = false
if tenants and tenants[group] then
  -- uses: note_able
  note_able(tenants[group], tier, n)
  held = redis.call('HEXISTS', base .. ':tn:' .. tenants[group], 'hold') == 1
  if held then add(c, 'held', n) end
end
if not held then ready[tier] = (ready[tier] or 0) + n end
