#!lua flags=no-writes
-- history: return what was kept of executions that ended, the latest first.
-- ROLES   coordinator ops-read ops
-- KEYS[1] base; derived: h
-- ARGV    how a line begins (''), entries to leave out, entries to look at (1-50)
-- Returns {entries to leave out next (-1 at the end), [ms, lines] ...}: of each entry all lines, or
--         those that begin so. It stops after 1 MiB. O(bytes looked at).
local base, begins, from, look = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local entries = redis.call('LRANGE', base .. ':h', -from - look, -from - 1)
local found, size, at = {}, 0, #entries
while at > 0 and size < 1048576 do
  local entry = entries[at]
  local ms, lines = string.match(entry, '^%d+ (%d+)\n(.*)$')
  if begins ~= '' and lines then
    local some, place = {}, string.find('\n' .. lines, '\n' .. begins, 1, true)
    while place do
      some[#some + 1] = string.match(lines, '[^\n]*', place)
      place = string.find('\n' .. lines, '\n' .. begins, place + 1, true)
    end
    lines = some[1] and table.concat(some, '\n')
  end
  if lines then
    found[#found + 1] = {tonumber(ms), lines}
    size = size + #lines
  end
  at, from = at - 1, from + 1
end
return {from < redis.call('LLEN', base .. ':h') and from or -1, unpack(found)}
