#!lua flags=no-writes
-- in_flight: list the jobs in flight in one epoch, to find claims whose reply was lost.
-- ROLES   consumer ops
-- KEYS[1] base; derived: fl:<epoch>
-- ARGV    epoch
-- Returns ids; the set is bounded by the owner's workers and prefetch. O(ids).
return redis.call('ZRANGE', KEYS[1] .. ':fl:' .. ARGV[1], 0, 9999)
