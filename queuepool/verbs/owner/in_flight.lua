#!lua flags=no-writes
-- in_flight: list the jobs in flight in one epoch, to find claims whose reply was lost.
-- ROLES   consumer ops
-- KEYS[1] base; derived: fl:<epoch>
-- ARGV    epoch
-- Returns ids, as a claim took them: those that started, then those that wait in memory. The set is
--         bounded by the owner's workers and prefetch. O(ids).
local book = KEYS[1] .. ':fl:' .. ARGV[1]
local ids = redis.call('ZRANGEBYSCORE', book, 1e12, '+inf', 'LIMIT', 0, 10000)
local waiting = redis.call('ZRANGEBYSCORE', book, '-inf', '(1e12', 'LIMIT', 0, 10000 - #ids)
for _, id in ipairs(waiting) do ids[#ids + 1] = id end
return ids
