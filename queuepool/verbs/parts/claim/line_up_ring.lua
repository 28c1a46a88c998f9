-- The rings as `shortest` has put them
for t, line in pairs(seats.lined) do
  redis.call('LPOP', rings[t], line[1])
  if line[2] > 0 then redis.call('RPOP', rings[t], line[2]) end
  for k = #line[3], 1, -1 do redis.call('LPUSH', rings[t], line[3][k]) end
end
