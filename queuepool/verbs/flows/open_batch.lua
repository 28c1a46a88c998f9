#!lua
-- open_batch: define a batch: jobs with one continuation, which waits for them.
-- ROLES   producer ops
-- KEYS[1] base; derived: b:<batch> bd wk
-- ARGV    batch, id of the continuation, how failures of its jobs count (f: the continuation dies,
--         p: it runs, w: it waits until they are replayed or discarded), what the deadline does (f,
--         p), ms until the deadline, ms for which the record is kept afterwards, what it is called,
--         the batch that it is in ('': none)
-- Returns 1, or 0 if it is there: as it was defined, and not concluded; or its state. Its jobs are
--         enqueued after this, and then it is sealed. O(1).
local base, batch = KEYS[1], ARGV[1]
local b = base .. ':b:' .. batch
-- uses: clock, ours, wake
redis.call('ZCARD', base .. ':bd')
ours('LLEN', base .. ':wk')
local state = ours('HGET', b, 'state')
-- uses: make_way
if state then return state == 'open' and 0 or state end
local due = now + ARGV[5]
redis.call('HSET', b, 'state', 'open', 'then', ARGV[2], 'how', ARGV[3], 'late', ARGV[4],
  'due', string.format('%.0f', due), 'keep', ARGV[6], 'called', ARGV[7], 'within', ARGV[8],
  'created', now)
redis.call('ZADD', base .. ':bd', due, batch)
wake('f')
return 1
