#!lua flags=allow-oom
-- drain: ask the owner of a partition to end: its running jobs end, and another takes over.
-- ROLES   ops
-- KEYS[1] base; derived: o
-- ARGV    epoch of the owner
-- Returns 1; 0 if it is not the owner, or not any more. O(1).
local o = KEYS[1] .. ':o'
local nonce, epoch = unpack(redis.call('HMGET', o, 'nonce', 'epoch'))
if epoch ~= ARGV[1] or (nonce or '') == '' then return 0 end
redis.call('HSET', o, 'drain', epoch) -- of this ownership alone: renew compares it
return 1
