#!lua flags=allow-oom
-- configure_tenant: set how a tenant may run; hold it, or release it.
-- ROLES   producer coordinator ops
-- KEYS[1] base; derived: c mt tn:<tenant> tr:<0-3>:<tenant> ring:<0-3> wk
-- ARGV    tenant, version of the route ('': 1), then n * (setting, value ('': none)): hold (1), max
--         (jobs that run at once), weight (share of turns in its tiers, beside 1 of others)
-- Returns 1 if that changed anything, else 0; {MOVED, least version}: that of the route is lower.
-- Claimed jobs continue. Of a tenant that is held or bounded its record tells how many jobs may be
-- claimed (c0-c3, within r0-r3 of c); the rest (apart) is within `held` or `capped` of c. A claim
-- that meets its seat while nothing may be claimed drops it, and records that (o4-o7, by the first
-- digit of the seat). Settings last until they are taken back. O(1).
local base, tenant, routed = KEYS[1], ARGV[1], ARGV[2]
-- uses: moved
local c, mt, record = base .. ':c', base .. ':mt', base .. ':tn:' .. ARGV[1]
-- uses: clock, ours, tune_tenant, whole, wake
redis.call('HLEN', mt)
ours('LLEN', base .. ':wk')
for t = 0, 3 do
  redis.call('LLEN', base .. ':ring:' .. t)
  ours('LLEN', base .. ':tr:' .. t .. ':' .. tenant)
end
local was = ours('HMGET', record, 'hold', 'max', 'weight', 'state', 'e0', 'e1', 'e2', 'e3') or {}
-- uses: make_way
local wish = {hold = was[1] and '1' or '', max = was[2] or '', weight = was[3] or ''}
for i = 3, #ARGV, 2 do wish[ARGV[i]] = ARGV[i + 1] end
local hold = wish.hold == '1'
local apart = hold or wish.max ~= ''
if hold == (was[1] and true or false) and wish.max == (was[2] or '')
  and wish.weight == (was[3] or '') then return 0 end
if apart and not was[4] then
  redis.call('HSET', record, 'state', 'capped', 'apart', 0, 'c0', whole(was[5]),
    'c1', whole(was[6]), 'c2', whole(was[7]), 'c3', whole(was[8]))
end
redis.call('HDEL', record, 't4', 't5', 't6', 't7')
if not hold then
  redis.call('HDEL', record, 'hold')
elseif not was[1] then
  redis.call('HSET', record, 'hold', now)
end
for setting, value in pairs(wish) do
  if setting ~= 'hold' and value == '' then
    redis.call('HDEL', record, setting)
  elseif setting ~= 'hold' then
    redis.call('HSET', record, setting, value)
  end
end
if tune_tenant(tenant) > 0 or not hold then wake('w') end
if not apart then redis.call('HDEL', record, 'state', 'apart', 'c0', 'c1', 'c2', 'c3') end
if not apart and wish.weight == '' then
  redis.call('HDEL', mt, tenant)
else
  if not apart then redis.call('HSET', mt, tenant, wish.weight) end
  redis.call('HSET', c, 'rare', 1)
end
return 1
