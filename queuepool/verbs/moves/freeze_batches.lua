#!lua flags=allow-oom
-- freeze_batches: let these batches be neither concluded nor forgotten, until `thaw`.
-- ROLES   ops
-- KEYS[1] base; derived: c bd b:<batch>
-- ARGV    version of the route, then 1 to 200 batches
-- Returns how many of them are here; or {MOVED, least version}: that of the route is another one.
-- A batch on its way has `at` in its record: when its owner was to look at it.
-- O(batches).
local base = KEYS[1]
-- uses: moves/current
-- uses: ours, moves/frozen
local bd, known, at, here = base .. ':bd', {}, {}, 0
for i = 2, #ARGV do
  known[i] = ours('HGET', base .. ':b:' .. ARGV[i], 'state')
  at[i] = redis.call('ZSCORE', bd, ARGV[i]) or '0'
end
-- uses: make_way
for i = 2, #ARGV do
  local b = base .. ':b:' .. ARGV[i]
  if known[i] then
    here = here + 1
    -- An end that came before `thaw` made it due, and what the record has is older
    if tonumber(at[i]) < tonumber(FROZEN) then redis.call('HSET', b, 'at', at[i]) end
    redis.call('ZADD', bd, FROZEN, ARGV[i])
  end
end
return here
