#!lua flags=allow-oom
-- release: give up a partition, at once, so that a successor may take it.
-- ROLES   consumer ops
-- KEYS[1] base; derived: o dr rec fl:<epoch>
-- ARGV    nonce, epoch, lease ms (0: leave altogether; else drain: finish what runs under this
--         lease)
-- Returns 1 (left), 2 (draining); or {FENCED, current epoch}. What remains in the in-flight set of
-- a process that leaves entirely is queued for recovery. O(1).
local base = KEYS[1]
local o, dr, book = base .. ':o', base .. ':dr', base .. ':fl:' .. ARGV[2]
-- uses: clock
local owner = redis.call('HMGET', o, 'nonce', 'epoch')
local leaving = redis.call('HGET', dr, ARGV[2])
local owns = owner[1] == ARGV[1] and owner[2] == ARGV[2]
local drains = leaving and string.find(leaving, ARGV[1] .. ':', 1, true) == 1
if not owns and not drains then return {'FENCED', owner[2] or '0'} end
local booked = redis.call('ZCARD', book)
redis.call('LLEN', base .. ':rec')
if owns then
  redis.call('HSET', o, 'nonce', '', 'expires', 0, 'workers', 0, 'busy', 0, 'target', 0)
end
if booked > 0 and tonumber(ARGV[3]) > 0 then
  redis.call('HSET', dr, ARGV[2], ARGV[1] .. ':' .. string.format('%.0f', now + ARGV[3]))
  return 2
end
redis.call('HDEL', dr, ARGV[2])
if booked > 0 then redis.call('RPUSH', base .. ':rec', ARGV[2]) end
return 1
