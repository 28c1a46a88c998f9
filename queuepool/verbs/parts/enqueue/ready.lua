local bounded = false
if tenants and tenants[group] then
  -- uses: note_able
  note_able(tenants[group], tier, n)
  bounded = redis.call('HEXISTS', base .. ':tn:' .. tenants[group], 'state') == 1
  if bounded then
    tuned = tuned or {}
    tuned.tenants = tuned.tenants or {}
    tuned.tenants[tenants[group]] = true
  end
end
if not bounded then
  wake = wake or idle
  ready[tier] = (ready[tier] or 0) + n
end
