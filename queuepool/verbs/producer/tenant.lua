#!lua flags=no-writes
-- tenant: what a tenant has in a partition, and how it may run.
-- ROLES   producer coordinator ops-read ops
-- KEYS[1] base; derived: tn:<tenant> tr:<0-3>:<tenant> tt:<tenant>
-- ARGV    tenant
-- Returns {ready jobs that its groups let run, groups with a turn, held since ms (0: it is not),
--         weight (0: 1), jobs that may run at once (0: any number), jobs in flight, and since it
--         last had a day without an end, jobs done, died, cancelled, expired}. O(1).
-- uses: whole
local base, groups = KEYS[1], 0
local f = redis.call('HMGET', base .. ':tn:' .. ARGV[1], 'e0', 'e1', 'e2', 'e3', 'hold', 'weight',
  'max', 'run')
local ended = redis.call('HMGET', base .. ':tt:' .. ARGV[1], 'done', 'died', 'cancelled', 'expired')
for i = 1, 8 do f[i] = whole(f[i]) end
for i = 1, 4 do ended[i] = whole(ended[i]) end
for t = 0, 3 do groups = groups + redis.call('LLEN', base .. ':tr:' .. t .. ':' .. ARGV[1]) end
return {f[1] + f[2] + f[3] + f[4], groups, f[5], f[6], f[7], f[8], unpack(ended)}
