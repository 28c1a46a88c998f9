#!lua flags=allow-oom
-- set_schedule: define a schedule; it is due at its times from now on.
-- ROLES   coordinator ops
-- KEYS[1] system base; derived: schedules fired
-- ARGV    name, JSON, by whom, how many there may be
-- Returns 1, 0 if it was so before (also if it is paused: it stays so), -1 if there are too many.
--         Stored is version:since ms:paused since ms:by whom, a line feed, and the JSON. O(1).
-- With its times and their place unchanged, it is still due at those that are not settled. In
-- another partition one of them might fire again.
local schedules, fired, name = KEYS[1] .. ':schedules', KEYS[1] .. ':fired', ARGV[1]
-- uses: clock, whole
local function times(json)
  local read, s = pcall(cjson.decode, json)
  if not read or type(s) ~= 'table' then return nil end
  local when = tostring(s.cron) .. '\n' .. tostring(s.every) .. '\n' .. tostring(s.timezone)
  return table.concat({when, tostring(s.partition_key), tostring(s.tenant), tostring(s.pool)}, '\n')
end
local before, since, paused, json = string.match(redis.call('HGET', schedules, name) or '',
  '^(%d+):(%d+):(%d+):[^\n]*\n(.*)$')
local known = redis.call('HEXISTS', schedules, name) == 1
local noted, settled = string.match(redis.call('HGET', fired, name) or '', '^(%d+):(%d+):')
if json == ARGV[2] then return 0 end
if not known and redis.call('HLEN', schedules) > tonumber(ARGV[4]) then return -1 end
local version = string.format('%.0f',
  math.max(whole(redis.call('HGET', schedules, '')) + 1, now))
local at = json and times(json)
if at and at == times(ARGV[2]) then
  local through = noted == before and whole(settled) or 0
  since = string.format('%.0f', math.min(now, math.max(whole(since), through)))
else
  since = now
end
redis.call('HSET', schedules, '', version, name, table.concat({version, since, paused or '0',
  ARGV[3]}, ':') .. '\n' .. ARGV[2])
return 1
