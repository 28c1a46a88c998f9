#!lua flags=no-writes
-- tenants: the tenants of a partition that have the most ready jobs.
-- ROLES   producer coordinator ops-read ops
-- KEYS[1] base; derived: ring:<0-3> mt tn:<tenant>
-- ARGV    how many (1-20)
-- Returns [[tenant, ready jobs that its groups let run, jobs in flight, held since ms (0: it is
--         not)] ...], most ready jobs first. It looks at those next in turn, 100 seats a tier, and
--         at about 100 of those with settings. O(1).
-- uses: whole
local base, names, found = KEYS[1], {}, {}
for t = 0, 3 do
  for _, seat in ipairs(redis.call('LRANGE', base .. ':ring:' .. t, 0, 99)) do
    if string.find(seat, '^[4-7]') then names[string.sub(seat, 13)] = true end
  end
end
local page = redis.call('HSCAN', base .. ':mt', 0, 'COUNT', 100)[2]
for i = 1, math.min(#page, 400), 2 do names[page[i]] = true end
for name in pairs(names) do
  local f = redis.call('HMGET', base .. ':tn:' .. name, 'e0', 'e1', 'e2', 'e3', 'run', 'hold')
  local ready = whole(f[1]) + whole(f[2]) + whole(f[3]) + whole(f[4])
  if ready > 0 then found[#found + 1] = {name, ready, whole(f[5]), whole(f[6])} end
end
table.sort(found, function(a, b) return a[2] > b[2] or a[2] == b[2] and a[1] < b[1] end)
for k = #found, tonumber(ARGV[1]) + 1, -1 do found[k] = nil end
return found
