#!lua flags=allow-oom
-- configure_tenant: hold a tenant, or release it; set its share of turns.
-- ROLES   producer coordinator ops
-- KEYS[1] base; derived: c mt tn:<tenant> tr:<0-3>:<tenant> ring:<0-3> wk
-- ARGV    tenant, then n * (setting, value ('': none)): hold (1), weight (share of turns in its
--         tiers, beside 1 of others)
-- Returns 1 if that changed anything, else 0.
-- Claimed jobs continue. While it is held, its jobs that might be claimed count in `held` of c
-- instead of r0-r3; a claim that meets its seat drops it, and records that (o4-o7, by the first
-- digit of the seat). O(1).
local base, tenant = KEYS[1], ARGV[1]
local c, mt, record = base .. ':c', base .. ':mt', base .. ':tn:' .. ARGV[1]
-- uses: clock, ours, add, whole, wake
redis.call('HLEN', mt)
ours('LLEN', base .. ':wk')
local rest = {}
for t = 0, 3 do
  redis.call('LLEN', base .. ':ring:' .. t)
  rest[t] = ours('LLEN', base .. ':tr:' .. t .. ':' .. tenant) or 0
end
local was = ours('HMGET', record, 'hold', 'weight', 'e0', 'e1', 'e2', 'e3') or {}
redis.call('HLEN', c)
-- uses: make_way
local wish = {hold = was[1] and '1' or '', weight = was[2] or ''}
for i = 2, #ARGV, 2 do wish[ARGV[i]] = ARGV[i + 1] end
local hold, weight = wish.hold == '1', wish.weight
if hold == (was[1] and true or false) and weight == (was[2] or '') then return 0 end
for t = 0, hold ~= (was[1] and true or false) and 3 or -1 do
  local jobs = whole(was[3 + t])
  if jobs ~= 0 then
    add(c, 'r' .. t, hold and 0 - jobs or jobs)
    add(c, 'held', hold and jobs or 0 - jobs)
  end
  if not hold and redis.call('HDEL', record, 'o' .. t + 4) == 1 and rest[t] > 0 then
    redis.call('RPUSH', base .. ':ring:' .. t, t + 4 .. string.format('%011x', now) .. tenant)
  end
end
if not hold then
  redis.call('HDEL', record, 'hold')
  wake('w')
elseif not was[1] then
  redis.call('HSET', record, 'hold', now)
end
redis.call('HDEL', record, 't4', 't5', 't6', 't7')
if weight == '' then
  redis.call('HDEL', record, 'weight')
else
  redis.call('HSET', record, 'weight', weight)
end
if not hold and weight == '' then
  redis.call('HDEL', mt, tenant)
else
  redis.call('HSET', mt, tenant, hold and 0 or weight)
  redis.call('HSET', c, 'rare', 1)
end
return 1
