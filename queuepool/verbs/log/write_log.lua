#!lua flags=allow-oom
-- write_log: add entries to the log, and forget those that are too many or too old.
-- ROLES   coordinator ops
-- KEYS[1] system base; derived: log:<kind>
-- ARGV    how many are kept of a kind (about), for how many ms, then kind and text of each entry
-- Returns how many were written. The time of an entry is the server's. O(n).
local keep, age = ARGV[1], tonumber(ARGV[2])
-- uses: clock
local oldest = string.format('%.0f', now - age)
for i = 3, #ARGV, 2 do redis.call('XLEN', KEYS[1] .. ':log:' .. ARGV[i]) end
for i = 3, #ARGV, 2 do
  local first = redis.call('XRANGE', KEYS[1] .. ':log:' .. ARGV[i], '-', '+', 'COUNT', 1)[1]
  local is_old = first and tonumber(string.match(first[1], '^%d+')) < now - age
  local by, sign, bound = 'MAXLEN', '~', keep
  if is_old then by, sign, bound = 'MINID', '=', oldest end
  redis.call('XADD', KEYS[1] .. ':log:' .. ARGV[i], by, sign, bound, '*', 'e', ARGV[i + 1])
end
return (#ARGV - 2) / 2
