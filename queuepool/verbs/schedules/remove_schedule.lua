#!lua flags=allow-oom
-- remove_schedule: forget a schedule; jobs that it has enqueued stay.
-- ROLES   coordinator ops
-- KEYS[1] system base; derived: schedules fired
-- ARGV    name
-- Returns 1, or 0 if there is no such schedule. O(1).
local schedules, fired = KEYS[1] .. ':schedules', KEYS[1] .. ':fired'
-- uses: clock, whole
local version = math.max(whole(redis.call('HGET', schedules, '')) + 1, now)
redis.call('HEXISTS', fired, ARGV[1])
if redis.call('HDEL', schedules, ARGV[1]) == 0 then return 0 end
redis.call('HSET', schedules, '', string.format('%.0f', version))
redis.call('HDEL', fired, ARGV[1])
return 1
