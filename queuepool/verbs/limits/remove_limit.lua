#!lua flags=allow-oom
-- remove_limit: what people set is gone: from now on a limit is as code declares it, or undefined.
-- ROLES   coordinator ops
-- KEYS[1] base; derived: li:<limit> ls
-- ARGV    limit
-- Returns 1 if that changed anything, else 0; -1 if nobody has set or asked for this limit. A pause
-- ends, too. What nobody asks for is forgotten after a day. O(1).
local base, name = KEYS[1], ARGV[1]
-- uses: limits/known, limits/names, limits/make_way
if not (known.set or known.paused or known.at) then return -1 end
if not known.set and not known.paused then return 0 end
redis.call('HDEL', li, 'set', 'paused')
redis.call('PEXPIRE', li, 86400000)
if not known.at then redis.call('ZREM', ls, name) end
return 1
