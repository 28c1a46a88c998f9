#!lua flags=no-writes
-- schedules: all schedules, and what was done of each.
-- ROLES   coordinator ops-read ops
-- KEYS[1] system base; derived: schedules fired
-- ARGV    version of all that the caller knows (0: none), a name ('': all)
-- Returns {now ms, version of all, [name, stored text ...], [name, what was done ...]}, with
--         nothing of any if the caller knows that version. O(schedules), O(1) if known.
local schedules, fired = KEYS[1] .. ':schedules', KEYS[1] .. ':fired'
-- uses: clock, whole
local version = whole(redis.call('HGET', schedules, ''))
local names = redis.call('HLEN', fired)
if ARGV[2] ~= '' then
  local text = redis.call('HGET', schedules, ARGV[2])
  local done = redis.call('HGET', fired, ARGV[2])
  return {now, version, text and {ARGV[2], text} or {}, done and {ARGV[2], done} or {}}
end
if version ~= 0 and version == tonumber(ARGV[1]) then return {now, version, {}, {}} end
return {now, version, redis.call('HGETALL', schedules),
  names > 0 and redis.call('HGETALL', fired) or {}}
