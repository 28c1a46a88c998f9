#!lua flags=allow-oom
-- turn_away: from now on, accept only calls that route by this version or a later one.
-- ROLES   coordinator ops
-- KEYS[1] base; derived: c mn
-- ARGV    version, whether slots move from now on (1, or 0; '': as before)
-- Returns the least version that is accepted: never lower than before; a call with a lower one
--         is late, and changes nothing. Each pool of a partition is told by itself. O(1).
-- uses: whole
local base, c, version = KEYS[1], KEYS[1] .. ':c', whole(ARGV[1])
local least = math.max(1, whole(redis.call('HGET', c, 'route')))
if version < least then return least end
if ARGV[2] == '0' then redis.call('SCARD', base .. ':mn') end
if ARGV[2] == '1' then redis.call('HSET', c, 'shut', 1) end
if ARGV[2] == '0' then
  redis.call('HDEL', c, 'shut')
  redis.call('UNLINK', base .. ':mn')
end
if version > least then redis.call('HSET', c, 'route', version) end
return version
