#!lua flags=allow-oom
-- set_limit: define a limit, whatever code says of it.
-- ROLES   coordinator ops
-- KEYS[1] base; derived: li:<limit> ls
-- ARGV    limit, definition (rate:per us:burst:permits:least:most, 0: none)
-- Returns 1 if that changed anything, 0 if it was so before; -1 for an invalid definition. O(1).
local base, name = KEYS[1], ARGV[1]
-- uses: limits/known, limits/names, limits/definition, limits/make_way
if not definition_of(ARGV[2]) then return -1 end
redis.call('ZADD', ls, 0, name)
redis.call('HSET', li, 'set', ARGV[2])
redis.call('PERSIST', li)
return known.set == ARGV[2] and 0 or 1
