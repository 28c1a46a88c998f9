#!lua flags=no-writes
-- peek: whether a partition is in use.
-- ROLES   producer consumer coordinator ops-read ops
-- KEYS[1] base; derived: j o
-- ARGV    none
-- Returns {jobs stored, ms left of the owner's lease}, 0 for what is missing. O(1).
local j, o = KEYS[1] .. ':j', KEYS[1] .. ':o'
-- uses: clock, whole
local nonce, expires = unpack(redis.call('HMGET', o, 'nonce', 'expires'))
local left = (nonce and nonce ~= '') and whole(expires) - now or 0
return {redis.call('HLEN', j), math.max(0, left)}
