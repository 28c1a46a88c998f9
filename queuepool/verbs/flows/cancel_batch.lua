#!lua flags=allow-oom
-- cancel_batch: conclude a batch as cancelled, before its continuation and its jobs are.
-- ROLES   producer ops
-- KEYS[1] base; derived: c b:<batch> bd
-- ARGV    batch, version of the route ('': 1)
-- Returns {the state that it had ('': unknown), id of its continuation}; or {MOVED, least version}:
--         that of the route is lower. O(1).
local base, b, routed = KEYS[1], KEYS[1] .. ':b:' .. ARGV[1], ARGV[2]
-- uses: moved, clock, ours, whole
redis.call('ZCARD', base .. ':bd')
local state, after, keep = unpack(ours('HMGET', b, 'state', 'then', 'keep') or {})
-- uses: make_way
if not state then return {'', ''} end
if state == 'open' then
  redis.call('HSET', b, 'state', 'cancelled', 'ended', now)
  redis.call('ZADD', base .. ':bd', now + whole(keep), ARGV[1])
end
return {state, after or ''}
