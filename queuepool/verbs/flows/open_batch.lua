#!lua
-- open_batch: define a batch: jobs with one continuation, which waits for them.
-- ROLES   producer ops
-- KEYS[1] base; derived: b:<batch> bd c wk
-- ARGV    batch, id of the continuation, how failures of its jobs count (f: the continuation dies,
--         p: it runs, w: it waits until they are replayed or discarded), what the deadline does (f,
--         p), ms until the deadline, ms for which the record is kept afterwards, what it is called,
--         the batch that it is in ('': none); of a flow also: which part of it (f: all, s: a step,
--         g: what a job of a step waits for), n batches that hear what becomes of it, each with '~'
--         and its number there, and the graph (of a g: the steps)
-- Returns 1, or 0 if it is there: as it was defined, and not concluded; or its state; or 'moving':
--         slots move, and none may be defined now. Its jobs are enqueued after this, and then it is
--         sealed. O(1).
local base, batch = KEYS[1], ARGV[1]
local b = base .. ':b:' .. batch
-- uses: clock, ours, wake
redis.call('ZCARD', base .. ':bd')
ours('LLEN', base .. ':wk')
local state = ours('HGET', b, 'state')
local shut = redis.call('HEXISTS', base .. ':c', 'shut') == 1
-- uses: make_way
if state then return state == 'open' and 0 or state end
if shut then return 'moving' end
local due = now + ARGV[5]
redis.call('HSET', b, 'state', 'open', 'then', ARGV[2], 'how', ARGV[3], 'late', ARGV[4],
  'due', string.format('%.0f', due), 'keep', ARGV[6], 'called', ARGV[7], 'within', ARGV[8],
  'created', now)
if ARGV[9] then
  redis.call('HSET', b, 'part', ARGV[9], 'tells', ARGV[10], 'graph', ARGV[11])
end
redis.call('ZADD', base .. ':bd', due, batch)
wake('f')
return 1
