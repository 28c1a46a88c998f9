-- uses: ended_sets
local function remember(ids, first, last)
  if not stands then
    -- uses: switch_sets
  end
  redis.call('SADD', dn, unpack(ids, first, last))
  redis.call('PERSIST', dn) -- an older release lets it expire
end
