if known[4] or tenants and tenants[group] then
  -- uses: give_seat, seek_place
  local lane = {tier = tier, group = group}
  if known[4] then seek_place(lane) end
  give_seat(lane)
else
  redis.call('RPUSH', base .. ':ring:' .. tier, tier .. stamp .. group)
end
