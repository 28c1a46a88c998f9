#!lua flags=allow-oom
-- audit_system: find, and delete if asked, keys of the queue itself that have a wrong type.
-- ROLES   ops-read ops
-- KEYS[1] system base; derived: leader manual policy schedules fired route decisions
--         why:<partition> log:<kind>
-- ARGV    repair (1) or only report (0), number of partitions, then kinds of the log
-- Returns the names of those that are wrong, without the base. A repair never deletes the route:
--         only it says where jobs are. O(partitions).
local repair, wrong = ARGV[1] == '1', {}
local function look(name, kind)
  local key = KEYS[1] .. ':' .. name
  local found = redis.call('TYPE', key).ok
  if found == 'none' or found == kind then return end
  wrong[#wrong + 1] = name
  if repair and name ~= 'route' then redis.call('UNLINK', key) end
end
for _, name in ipairs({'leader', 'manual', 'policy', 'schedules', 'fired', 'route'}) do
  look(name, 'hash')
end
look('decisions', 'stream')
for p = 0, tonumber(ARGV[2]) - 1 do look(string.format('why:%d', p), 'stream') end
for i = 3, #ARGV do look('log:' .. ARGV[i], 'stream') end
return wrong
