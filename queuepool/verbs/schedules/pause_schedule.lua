#!lua flags=allow-oom
-- pause_schedule: let a schedule fire no more, or again; times in between are not made up for.
-- ROLES   coordinator ops
-- KEYS[1] system base; derived: schedules
-- ARGV    name, 1 to pause, 0 to resume, by whom
-- Returns 1 if that changed anything, else 0; -1 if there is no such schedule. O(1).
local schedules, name = KEYS[1] .. ':schedules', ARGV[1]
-- uses: clock, whole
local since, paused, json = string.match(redis.call('HGET', schedules, name) or '',
  '^%d+:(%d+):(%d+):[^\n]*\n(.*)$')
if not json then return -1 end
if (paused ~= '0') == (ARGV[2] == '1') then return 0 end
local version = string.format('%.0f',
  math.max(whole(redis.call('HGET', schedules, '')) + 1, now))
if ARGV[2] == '0' then since = now end
redis.call('HSET', schedules, '', version, name, table.concat({version, since,
  ARGV[2] == '1' and now or '0', ARGV[3]}, ':') .. '\n' .. json)
return 1
