#!lua flags=no-writes
-- group: totals of one task group.
-- ROLES   producer coordinator ops-read ops
-- KEYS[1] base; derived: c g:<group> q:<0-3>:<group> cx
-- ARGV    group, version of the route ('': 1)
-- Returns {total, left, dead, cancelled, delayed, ready, created ms, finished ms (0 while work
--         is left), cancelled at ms, done, evicted, discarded, held since ms (0: it is not),
--         expired, jobs that may run at once (0: any number), serial (1), weight (0: 1),
--         parked, the tier whose turns its jobs have + 1 (0: their own), over how many slots it
--         is spread (0: it is not)}; total 0 for a group that is unknown or was forgotten.
--         in-flight = left - delayed - parked - ready, where ready still counts the places of jobs
--         cancelled one by one (a cancelled group leaves none that counts). A group whose jobs were
--         never finished by a version that counts them has done as the rest of its total.
-- {MOVED, least version}: that of the route is lower. O(1).
-- uses: whole
local base, g, routed = KEYS[1], KEYS[1] .. ':g:' .. ARGV[1], ARGV[2]
-- uses: moved
local f = redis.call('HMGET', g, 'total', 'left', 'dead', 'cancelled', 'delayed', 'created',
  'finished', 'cancelled_at', 'evicted', 'discarded', 'hold', 'expired', 'max', 'serial',
  'weight', 'parked', 'done', 'tier', 'spread')
local ready = 0
for t = 0, 3 do
  local lane = base .. ':q:' .. t .. ':' .. ARGV[1]
  local n = redis.call('LLEN', lane)
  if n == 1 and redis.call('HEXISTS', base .. ':cx', redis.call('LINDEX', lane, 0)) == 1 then
    n = 0
  end
  ready = ready + n
end
for i = 1, 16 do f[i] = whole(f[i]) end
local done = whole(f[17] or f[1] - f[2] - f[3] - f[4] - f[9] - f[10] - f[12])
return {f[1], f[2], f[3], f[4], f[5], math.min(ready, f[2]), f[6], f[2] > 0 and 0 or f[7], f[8],
  done, f[9], f[10], f[11], f[12], f[13], f[14], f[15], f[16],
  f[18] and string.find(f[18], '^[0-3]$') and f[18] + 1 or 0, whole(f[19])}
