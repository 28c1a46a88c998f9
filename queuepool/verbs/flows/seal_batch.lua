#!lua
-- seal_batch: say how many jobs a batch has; only its own jobs may add more.
-- ROLES   producer ops
-- KEYS[1] base; derived: c b:<batch> bd wk fo
-- ARGV    batch, version of the route ('': 1), jobs
-- Returns 1, 0 if it was sealed before with as many jobs, -1 if with another number, or its state
--         ('': unknown) if it is not open; {MOVED, least version}: that of the route is lower.
--         O(1).
local base, batch, routed, jobs = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local b = base .. ':b:' .. batch
-- uses: moved, clock, ours, make_due, flows/pass_on
redis.call('ZCARD', base .. ':bd')
redis.call('XLEN', base .. ':fo')
ours('LLEN', base .. ':wk')
local state, sealed, part = unpack(ours('HMGET', b, 'state', 'first', 'part') or {})
-- uses: make_way
if state ~= 'open' then return state or '' end
if sealed then return sealed == jobs and 0 or -1 end
redis.call('HSET', b, 'sealed', 1, 'first', jobs, 'total', jobs)
if part == 's' or part == 'f' then pass_on(batch) else make_due(batch) end
return 1
