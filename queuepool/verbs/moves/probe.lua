#!lua flags=allow-oom
-- probe: leave a number under the keys of a place, to see whether another place has the same keys.
-- ROLES   ops
-- KEYS[1] base; derived: c
-- ARGV    a whole number above 0; 0: none
-- Returns the number that was there before, 0 if there was none. O(1).
local c, before = KEYS[1] .. ':c', redis.call('HGET', KEYS[1] .. ':c', 'probe')
if ARGV[1] == '0' then
  redis.call('HDEL', c, 'probe')
else
  redis.call('HSET', c, 'probe', ARGV[1])
end
return tonumber(before or '0')
