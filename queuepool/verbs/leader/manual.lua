#!lua flags=allow-oom
-- manual: set the workers of a partition manually for a limited time, or return to automatic.
-- ROLES   coordinator ops
-- KEYS[1] system base; derived: manual
-- ARGV    partition, workers ('' to clear), time to live ms
-- Returns the ms at which it ends, 0 if cleared. Also drops expired entries.
--         O(entries).
local manual = KEYS[1] .. ':manual'
-- uses: clock, whole
local entries = redis.call('HGETALL', manual)
for i = 1, #entries, 2 do
  if whole(string.match(entries[i + 1], ':(%d+)$')) <= now then
    redis.call('HDEL', manual, entries[i])
  end
end
if ARGV[2] == '' then
  redis.call('HDEL', manual, ARGV[1])
  return 0
end
redis.call('HSET', manual, ARGV[1], ARGV[2] .. ':' .. string.format('%.0f', now + ARGV[3]))
return now + ARGV[3]
