#!lua flags=allow-oom
-- set_schedule: define a schedule; it is due at its times from now on.
-- ROLES   coordinator ops
-- KEYS[1] system base; derived: schedules
-- ARGV    name, JSON, by whom, how many there may be
-- Returns 1, 0 if it was so before (also if it is paused: it stays so), -1 if there are too many.
--         Stored is version:since ms:paused since ms:by whom, a line feed, and the JSON. O(1).
local schedules, name = KEYS[1] .. ':schedules', ARGV[1]
-- uses: clock, whole
local paused, json = string.match(redis.call('HGET', schedules, name) or '',
  '^%d+:%d+:(%d+):[^\n]*\n(.*)$')
local known = redis.call('HEXISTS', schedules, name) == 1
if json == ARGV[2] then return 0 end
if not known and redis.call('HLEN', schedules) > tonumber(ARGV[4]) then return -1 end
local version = string.format('%.0f',
  math.max(whole(redis.call('HGET', schedules, '')) + 1, now))
redis.call('HSET', schedules, '', version, name, table.concat({version, now, paused or '0',
  ARGV[3]}, ':') .. '\n' .. ARGV[2])
return 1
