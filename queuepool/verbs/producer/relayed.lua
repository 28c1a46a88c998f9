#!lua flags=no-writes
-- relayed: whether a delivery of an outbox was enqueued here, or a later one.
-- ROLES   producer ops
-- KEYS[1] base; derived: ob:<outbox>
-- ARGV    outbox, number of the delivery
-- Returns 1 or 0. O(1).
local newest = tonumber(redis.call('GET', KEYS[1] .. ':ob:' .. ARGV[1]) or '')
return newest and newest >= tonumber(ARGV[2]) and newest < 9e15 and 1 or 0
