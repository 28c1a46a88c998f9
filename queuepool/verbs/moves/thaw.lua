#!lua flags=allow-oom
-- thaw: let jobs of all frozen task groups start, as their settings say, and batches conclude; at
--       most 200 of each.
-- ROLES   ops
-- KEYS[1] base; derived: c dl ht lm mg mv wk g:<group> ring:<0-3> tr:<0-3>:<tenant> tn:<tenant> mt
--         tt:<tenant> bd b:<batch>
-- ARGV    version of the route
-- Returns how many groups and batches are frozen still; or {MOVED, least version}: that of the
--         route is another one. O(200).
local base = KEYS[1]
-- uses: moves/current
local c, mg, mv = base .. ':c', base .. ':mg', base .. ':mv'
-- uses: clock, check_hashes, ours, tune, unmanage, probe_tenant, moves/frozen
check_hashes('c', 'ht', 'mg')
-- uses: probe_managed
local groups = redis.call('SRANDMEMBER', mv, 200)
for _, group in ipairs(groups) do
  probe_tenant(group)
  ours('HLEN', base .. ':g:' .. group)
end
local bd, at = base .. ':bd', {}
local batches = redis.call('ZRANGEBYSCORE', bd, FROZEN, '+inf', 'LIMIT', 0, 200)
for i, batch in ipairs(batches) do at[i] = ours('HGET', base .. ':b:' .. batch, 'at') end
-- uses: make_way
for _, group in ipairs(groups) do
  redis.call('SREM', mv, group)
  local g = base .. ':g:' .. group
  if redis.call('HDEL', g, 'moving', 'arrived', 'closed') > 0 then
    if tune(group) > 0 then wake('w') end
    if whole(redis.call('HGET', g, 'delayed')) > 0 then wake('d') end -- promote passed what was due
    unmanage(group)
  end
end
local tasks = redis.call('HGETALL', base .. ':ht')
for i = 1, #tasks, 2 do
  if tasks[i + 1] == '2' then -- rouse passed jobs of it
    redis.call('HSET', base .. ':ht', tasks[i], 0)
    wake('w')
  end
end
for i, batch in ipairs(batches) do
  redis.call('ZADD', bd, whole(at[i]), batch)
  redis.call('HDEL', base .. ':b:' .. batch, 'at')
end
if #batches > 0 then wake('f') end
return redis.call('SCARD', mv) + redis.call('ZCOUNT', bd, FROZEN, '+inf')
