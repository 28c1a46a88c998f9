#!lua
-- adopt_batch: take over a page of a batch from another partition; it is frozen until `thaw`.
-- ROLES   ops
-- KEYS[1] base; derived: c bd b:<batch> bb:<batch> bf:<batch> br:<batch>:<page>
-- ARGV    version of the route, batch, now ms there, what the page has, where it begins, and what
--         it has, as export_batch returns them
-- Returns 1; or {MOVED, least version}: that of the route is another one. A page may come again.
--         Its times follow the clock here, if that differs by a second. O(fields).
local base, batch, kind = KEYS[1], ARGV[2], ARGV[4]
-- uses: moves/current
-- uses: clock, ours, moves/frozen
local b, bd, bits = base .. ':b:' .. batch, base .. ':bd', base .. ':bb:' .. batch
local failed = base .. ':bf:' .. batch
redis.call('ZCARD', bd)
ours('HLEN', b)
ours('STRLEN', bits)
ours('HLEN', failed)
local i = 6
while kind == 'r' and i < #ARGV do
  ours('HLEN', base .. ':br:' .. batch .. ':' .. ARGV[i])
  i = i + 2 + 2 * ARGV[i + 1]
end
-- uses: make_way
if kind == 'b' then
  local shift, times = now - ARGV[3], {due = true, created = true, ended = true, at = true}
  if math.abs(shift) < 1000 then shift = 0 end
  if ARGV[5] == '0' then redis.call('HDEL', b, 'swept') end
  for k = 6, #ARGV, 2 do
    local value = ARGV[k + 1]
    if shift ~= 0 and times[ARGV[k]] and whole(value) > 0 then
      value = string.format('%.0f', math.max(1, whole(value) + shift))
    end
    redis.call('HSET', b, ARGV[k], value)
  end
  redis.call('ZADD', bd, FROZEN, batch)
end
if kind == 's' and ARGV[6] ~= '' then redis.call('SETRANGE', bits, ARGV[5], ARGV[6]) end
if kind == 'f' then
  for k = 6, #ARGV, 2 do redis.call('HSET', failed, ARGV[k], ARGV[k + 1]) end
end
i = 6
while kind == 'r' and i < #ARGV do
  local page = base .. ':br:' .. batch .. ':' .. ARGV[i]
  for k = i + 2, i + 1 + 2 * ARGV[i + 1], 2 do redis.call('HSET', page, ARGV[k], ARGV[k + 1]) end
  i = i + 2 + 2 * ARGV[i + 1]
end
return 1
