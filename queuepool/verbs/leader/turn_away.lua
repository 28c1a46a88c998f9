#!lua flags=allow-oom
-- turn_away: from now on, accept only calls that route by this version or a later one.
-- ROLES   coordinator ops
-- KEYS[1] base; derived: c mn mr
-- ARGV    version, whether slots move from now on (1, or 0; '': as before); then, if jobs of slots
--         that stay may be added by earlier versions too: the version that the caller told last (0:
--         none), the version since which no slot has closed here if it was not, and the slots that
--         close now, 3 hex digits each
-- Returns the least version that is accepted: never lower than before; a call with a lower one
--         is late, and changes nothing. Each pool of a partition is told by itself. O(slots).
-- From the version `from` of `mr` on, it has the version by which each slot closed last. It is
-- complete while nobody else has told another version than `to`, and the caller's own were kept.
-- uses: whole
local base, c, version = KEYS[1], KEYS[1] .. ':c', whole(ARGV[1])
local least = math.max(1, whole(redis.call('HGET', c, 'route')))
if version < least then return least end
local mr, told = base .. ':mr', ARGV[3]
local to = redis.call('HGET', mr, 'to')
if ARGV[2] == '0' then redis.call('SCARD', base .. ':mn') end
if ARGV[2] == '1' then redis.call('HSET', c, 'shut', 1) end
if ARGV[2] == '0' then
  redis.call('HDEL', c, 'shut')
  redis.call('UNLINK', base .. ':mn')
end
local complete = told and whole(to) == least and whole(told) == least
if not complete then redis.call('UNLINK', mr) end
if told then
  if not complete then redis.call('HSET', mr, 'from', whole(ARGV[4])) end
  for i = 5, #ARGV do redis.call('HSET', mr, ARGV[i], version) end
  redis.call('HSET', mr, 'to', version)
end
if version > least then redis.call('HSET', c, 'route', version) end
return version
