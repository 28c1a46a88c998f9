-- uses: ours, place_of
-- At the gates where a group has parked jobs, its lanes have their turns where its tier says: at
-- about ten gates a step, by cursor.
local f = ours('HMGET', g, 'tier', 'moved') or {}
local page = f[2] and ours('SSCAN', base .. ':gg:' .. group, ARGV[4] == '' and '0' or ARGV[4],
  'COUNT', 10) or {'0', {}}
local gates = {}
for _, place in ipairs(page[2]) do gates[string.sub(place, 3)] = {} end
for gate, sizes in pairs(gates) do
  for t = 0, 3 do
    ours('LLEN', base .. ':gr:' .. t .. ':' .. gate)
    sizes[t] = ours('LLEN', base .. ':gq:' .. t .. ':' .. gate .. '~' .. group) or 0
  end
end
-- uses: make_way
for gate, sizes in pairs(gates) do
  for t = 0, 3 do redis.call('LREM', base .. ':gr:' .. t .. ':' .. gate, 0, group) end
  for t = 0, 3 do
    local ring = base .. ':gr:' .. (place_of(f, t)) .. ':' .. gate
    if sizes[t] > 0 then redis.call('RPUSH', ring, group) end
  end
end
return page[1] == '0' and '' or page[1]
