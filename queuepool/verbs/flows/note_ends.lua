#!lua
-- note_ends: note outcomes of jobs of batches, each once, however often it is told.
-- ROLES   consumer ops
-- KEYS[1] base; derived: c b:<batch> bb:<batch> bf:<batch> br:<batch>:<page> bd wk fo
-- ARGV    version of the route ('': 1), then n * (batch, number of the job, end (d: done, x: dead,
--         r: back from the dead, c: cancelled, e: expired, v: evicted, g: discarded), stamp of the
--         body, result or error)
-- Returns how many were news; or {MOVED, least version}: that of the route is lower. A batch whose
--         jobs have all ended is due from then on; a step of a flow tells what waits for it,
--         through `fo`. First the result is stored, then the bit of the job is set, then it is
--         counted. O(n + batches told).
-- One that has concluded notes them too, for its continuation, which may run again; but not one
-- that was cancelled, or whose results are being deleted.
-- A death and a return are told with the stamp of the body, which a return makes later: those that
-- are older than what is known were told before, or are told late.
local base, routed = KEYS[1], ARGV[1]
-- uses: moved, clock, ours, add, make_due
redis.call('ZCARD', base .. ':bd')
redis.call('XLEN', base .. ':fo')
ours('LLEN', base .. ':wk')
local takes, parts = {}, {}
for i = 2, #ARGV, 5 do
  local batch = ARGV[i]
  if takes[batch] == nil then
    local f = ours('HMGET', base .. ':b:' .. batch, 'state', 'part', 'swept') or {}
    takes[batch] = (f[1] == 'open' or f[1] == 'fired' or f[1] == 'failed') and not f[3]
    parts[batch] = f[2]
    ours('STRLEN', base .. ':bb:' .. batch)
    ours('HLEN', base .. ':bf:' .. batch)
  end
  local page = string.format('%.0f', math.floor(ARGV[i + 1] / 128))
  ours('HLEN', base .. ':br:' .. batch .. ':' .. page)
end
-- uses: make_way, flows/note, flows/pass_on
local news, touched = 0, {}
for i = 2, #ARGV, 5 do
  local batch, number = ARGV[i], tonumber(ARGV[i + 1])
  if takes[batch] and number < 16777216
    and note(batch, number, ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]) then
    news, touched[batch] = news + 1, true
  end
end
for batch in pairs(touched) do
  if parts[batch] == 's' or parts[batch] == 'f' then pass_on(batch) else make_due(batch) end
end
return news
