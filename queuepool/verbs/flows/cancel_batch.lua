#!lua flags=allow-oom
-- cancel_batch: conclude a batch as cancelled, before its continuation and its jobs are.
-- ROLES   producer ops
-- KEYS[1] base; derived: b:<batch> bd
-- ARGV    batch
-- Returns {the state that it had ('': unknown), id of its continuation}. O(1).
local base, b = KEYS[1], KEYS[1] .. ':b:' .. ARGV[1]
-- uses: clock, ours, whole
redis.call('ZCARD', base .. ':bd')
local state, after, keep = unpack(ours('HMGET', b, 'state', 'then', 'keep') or {})
-- uses: make_way
if not state then return {'', ''} end
if state == 'open' then
  redis.call('HSET', b, 'state', 'cancelled', 'ended', now)
  redis.call('ZADD', base .. ':bd', now + whole(keep), ARGV[1])
end
return {state, after or ''}
