#!lua flags=allow-oom
-- pause_limit: start no jobs of a limit until it is resumed, which also ends a wait as told (429).
-- ROLES   coordinator ops
-- KEYS[1] base; derived: li:<limit>
-- ARGV    limit, 1 to pause, 0 to resume
-- Returns 1 if that changed anything, else 0; -1 if nobody has set or asked for this limit. Running
-- jobs continue; tokens that owners have may be used for another 2 s. O(1).
local base, name = KEYS[1], ARGV[1]
-- uses: limits/us, whole, limits/known, limits/make_way
local waits = ARGV[2] ~= '1' and whole(known['until']) > us
if not (known.set or known.paused or known.at) then return -1 end
if waits then redis.call('HDEL', li, 'until') end
if (ARGV[2] == '1') == (known.paused and true or false) then return waits and 1 or 0 end
if ARGV[2] == '1' then
  redis.call('HSET', li, 'paused', now)
  redis.call('PERSIST', li)
else
  redis.call('HDEL', li, 'paused')
  if not known.set then redis.call('PEXPIRE', li, 86400000) end
end
return 1
