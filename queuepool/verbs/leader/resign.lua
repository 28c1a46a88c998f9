#!lua flags=allow-oom
-- resign: give up leadership at once, so that a standby need not wait for the lease.
-- ROLES   coordinator ops
-- KEYS[1] system base; derived: leader
-- ARGV    nonce
-- Returns 1 if it led. O(1).
local leader = KEYS[1] .. ':leader'
if redis.call('HGET', leader, 'nonce') ~= ARGV[1] then return 0 end
redis.call('HSET', leader, 'nonce', '', 'expires', 0)
return 1
