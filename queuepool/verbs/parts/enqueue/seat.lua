if tenants and tenants[group] then
  -- uses: give_seat
  give_seat({tier = tier, group = group})
else
  redis.call('RPUSH', base .. ':ring:' .. tier, tier .. stamp .. group)
end
