-- Lanes with remaining jobs get seats again, each in the ring of its own tier.
if stamp then
  for home, seats in pairs(cut) do
    if rings[tonumber(home)] then redis.call('RPUSH', rings[tonumber(home)], unpack(seats)) end
  end
  for home, seats in pairs(back) do
    if rings[tonumber(home)] then redis.call('RPUSH', rings[tonumber(home)], unpack(seats)) end
  end
  for home, seats in pairs(again) do
    for k = rings[tonumber(home)] and #seats or 0, 1, -1 do
      redis.call('LPUSH', rings[tonumber(home)], seats[k])
    end
  end
end
-- A lane that waits too long has its next turn a tier up.
for t = 1, #active > 1 and ARGV[5] ~= '0' and 3 or 0 do
  local seat = redis.call('LINDEX', rings[t], 0)
  if seat and now - (tonumber(string.sub(seat, 2, 12), 16) or 0) > tonumber(ARGV[5]) then
    redis.call('RPUSH', rings[t - 1], redis.call('LPOP', rings[t]))
  end
end
