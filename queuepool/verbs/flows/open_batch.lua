#!lua
-- open_batch: define a batch: jobs with one continuation, which waits for them.
-- ROLES   producer ops
-- KEYS[1] base; derived: b:<batch> bb:<batch> bd c wk
-- ARGV    batch, version of the route ('': 1), id of the continuation, how failures of its jobs
--         count (f: the continuation dies, p: it runs, w: it waits until they are replayed or
--         discarded), what the deadline does (f, p), ms until the deadline, ms for which the record
--         is kept afterwards, what it is called, the batch that it is in ('': none); of a flow
--         also: which part of it (f: all, s: a step, g: what a job of a step waits for), n batches
--         that hear what becomes of it, each with '~' and its number there, and the graph (of a g:
--         the steps)
-- Returns 1; or if it is there, as it was defined, and not concluded {0, a bit for each of its jobs
--         that has ended, with how many jobs it was sealed ('': it is not)}; or its state; or
--         {MOVED, least version}: that of the route is lower. Its jobs are enqueued after this, and
--         then it is sealed. O(1), or O(jobs / 8) if it is there.
local base, batch, routed = KEYS[1], ARGV[1], ARGV[2]
local b = base .. ':b:' .. batch
-- uses: moved, clock, ours, wake
redis.call('ZCARD', base .. ':bd')
ours('LLEN', base .. ':wk')
local state, jobs = unpack(ours('HMGET', b, 'state', 'first') or {})
local bits = state == 'open' and redis.call('GETRANGE', base .. ':bb:' .. batch, 0, -1)
-- uses: make_way
if state == 'open' then return {0, bits, jobs or ''} end
if state then return state end
local due = now + ARGV[6]
redis.call('HSET', b, 'state', 'open', 'then', ARGV[3], 'how', ARGV[4], 'late', ARGV[5],
  'due', string.format('%.0f', due), 'keep', ARGV[7], 'called', ARGV[8], 'within', ARGV[9],
  'created', now)
if ARGV[10] then
  redis.call('HSET', b, 'part', ARGV[10], 'tells', ARGV[11], 'graph', ARGV[12])
end
redis.call('ZADD', base .. ':bd', due, batch)
wake('f')
return 1
