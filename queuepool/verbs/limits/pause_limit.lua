#!lua flags=allow-oom
-- pause_limit: start no jobs of a limit until it is resumed, which also ends a wait as told (429).
-- ROLES   coordinator ops
-- KEYS[1] base; derived: li:<limit> ls
-- ARGV    limit, 1 to pause, 0 to resume
-- Returns 1 if that changed anything, else 0; -1 to resume a limit that nobody has set, paused or
-- asked for: a pause may come first. Running jobs continue; tokens that owners have may be used for
-- another 2 s. O(log limits).
local base, name = KEYS[1], ARGV[1]
-- uses: limits/us, whole, limits/known, limits/names, limits/make_way
local pausing = ARGV[2] == '1'
local waits = not pausing and whole(known['until']) > us
if not (pausing or known.set or known.paused or known.at) then return -1 end
if waits then redis.call('HDEL', li, 'until') end
if pausing == (known.paused and true or false) then return waits and 1 or 0 end
if pausing then
  redis.call('ZADD', ls, 0, name)
  redis.call('HSET', li, 'paused', now)
  redis.call('PERSIST', li)
else
  redis.call('HDEL', li, 'paused')
  if not known.set then redis.call('PEXPIRE', li, 86400000) end
  if not (known.set or known.at) then redis.call('ZREM', ls, name) end
end
return 1
