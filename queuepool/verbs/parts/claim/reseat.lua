-- Lanes with remaining jobs get seats again, each in the ring of its own tier, or of its tenant.
if stamp then
  for place, seats_there in pairs(cut) do
    local ring = rings[tonumber(place)] or rings[place]
    if ring then redis.call('RPUSH', ring, unpack(seats_there)) end
  end
  for place, seats_there in pairs(back) do
    local ring = rings[tonumber(place)] or rings[place]
    if ring then redis.call('RPUSH', ring, unpack(seats_there)) end
  end
  for place, seats_there in pairs(again) do
    local ring = rings[tonumber(place)] or rings[place]
    for k = ring and #seats_there or 0, 1, -1 do redis.call('LPUSH', ring, seats_there[k]) end
  end
end
-- A lane that waits too long has its next turn a tier up.
for t = 1, #active > 1 and ARGV[5] ~= '0' and 3 or 0 do
  local seat = redis.call('LINDEX', rings[t], 0)
  if seat and now - (tonumber(string.sub(seat, 2, 12), 16) or 0) > tonumber(ARGV[5]) then
    redis.call('RPUSH', rings[t - 1], redis.call('LPOP', rings[t]))
  end
end
