#!lua flags=no-writes
-- gates: where jobs that name limits wait, or were admitted to their lanes; a page of them.
-- ROLES   consumer coordinator ops-read ops
-- KEYS[1] base; derived: c gt ga dr rec
-- ARGV    cursor ('0' to begin, then as returned), how many a step looks at
-- Returns {next cursor ('0' at the end), earlier owners that drain or are to be recovered, 1 if
--         jobs ever waited at a gate, gate, ids parked there, jobs admitted and not claimed yet,
--         ...}. A gate may come twice. One that has either all the time is not missed.
local gt, ga = KEYS[1] .. ':gt', KEYS[1] .. ':ga'
-- First the gates with ids, then (a) those with admitted jobs
local second, at = string.match(ARGV[1], '^(a?)(%d+)$')
second = second == 'a'
local page = redis.call('HSCAN', second and ga or gt, at or '0', 'COUNT', ARGV[2])
local cursor = page[1]
if second and cursor ~= '0' then
  cursor = 'a' .. cursor
elseif not second and cursor == '0' and redis.call('HLEN', ga) > 0 then
  cursor = 'a0'
end
local found = {cursor,
  redis.call('HLEN', KEYS[1] .. ':dr') + redis.call('LLEN', KEYS[1] .. ':rec'),
  redis.call('HEXISTS', KEYS[1] .. ':c', 'parked')}
for i = 1, #page[2], 2 do
  local gate = page[2][i]
  found[#found + 1] = gate
  found[#found + 1] = tonumber(redis.call('HGET', gt, gate) or 0) or 0
  found[#found + 1] = tonumber(redis.call('HGET', ga, gate) or 0) or 0
end
return found
