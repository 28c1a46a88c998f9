#!lua flags=no-writes
-- gates: where jobs that name limits wait, a page of them.
-- ROLES   consumer coordinator ops-read ops
-- KEYS[1] base; derived: c gt ga dr rec
-- ARGV    cursor ('0' to begin), how many a step looks at
-- Returns {next cursor ('0' at the end), earlier owners that drain or are to be recovered, jobs
--         ever admitted, gate, ids parked there, jobs admitted and not claimed yet, ...}.
local gt, ga = KEYS[1] .. ':gt', KEYS[1] .. ':ga'
local page = redis.call('HSCAN', gt, ARGV[1], 'COUNT', ARGV[2])
local found = {page[1],
  redis.call('HLEN', KEYS[1] .. ':dr') + redis.call('LLEN', KEYS[1] .. ':rec'),
  tonumber(redis.call('HGET', KEYS[1] .. ':c', 'admitted') or 0) or 0}
for i = 1, #page[2], 2 do
  found[#found + 1] = page[2][i]
  found[#found + 1] = tonumber(page[2][i + 1]) or 0
  found[#found + 1] = tonumber(redis.call('HGET', ga, page[2][i]) or 0) or 0
end
return found
