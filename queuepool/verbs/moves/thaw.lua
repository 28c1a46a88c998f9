#!lua flags=allow-oom
-- thaw: let jobs of all frozen task groups start, as their settings say; at most 200 groups.
-- ROLES   ops
-- KEYS[1] base; derived: c dl lm mg mv wk g:<group> ring:<0-3> tr:<0-3>:<tenant> tn:<tenant> mt
--         tt:<tenant>
-- ARGV    version of the route
-- Returns how many groups are frozen still; or {MOVED, least version}: that of the route is another
--         one. O(200).
local base = KEYS[1]
-- uses: moves/current
local c, mg, mv = base .. ':c', base .. ':mg', base .. ':mv'
-- uses: clock, check_hashes, ours, tune, unmanage, probe_tenant
check_hashes('c', 'mg')
-- uses: probe_managed
local groups = redis.call('SRANDMEMBER', mv, 200)
for _, group in ipairs(groups) do
  probe_tenant(group)
  ours('HLEN', base .. ':g:' .. group)
end
-- uses: make_way
for _, group in ipairs(groups) do
  redis.call('SREM', mv, group)
  if redis.call('HDEL', base .. ':g:' .. group, 'moving', 'arrived') > 0 then
    if tune(group) > 0 then wake('w') end
    unmanage(group)
  end
end
return redis.call('SCARD', mv)
