#!lua
-- seal_batch: say how many jobs a batch has; only its own jobs may add more.
-- ROLES   producer ops
-- KEYS[1] base; derived: b:<batch> bd wk
-- ARGV    batch, jobs
-- Returns 1, 0 if it was sealed before with as many jobs, -1 if with another number, or its state
--         ('': unknown) if it is not open. O(1).
local base, batch = KEYS[1], ARGV[1]
local b = base .. ':b:' .. batch
-- uses: clock, ours, make_due
redis.call('ZCARD', base .. ':bd')
ours('LLEN', base .. ':wk')
local state, sealed = unpack(ours('HMGET', b, 'state', 'first') or {})
-- uses: make_way
if state ~= 'open' then return state or '' end
if sealed then return sealed == ARGV[2] and 0 or -1 end
redis.call('HSET', b, 'sealed', 1, 'first', ARGV[2], 'total', ARGV[2])
make_due(batch)
return 1
