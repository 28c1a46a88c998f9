#!lua flags=allow-oom
-- cancel: cancel one job: remove it if it waits, ask its handler to stop if it runs.
-- ROLES   producer ops
-- KEYS[1] base; derived: j dl du dg:<group> ua dead o dr rec c cx cn wk at cr er g:<group>
--         fl:<epochs> dn:<0|1> mg ring:<0-3> tr:<0-3>:<tenant> tn:<tenant> mt tt:<tenant> u uk ex
--         lm ga fo
-- ARGV    id, version of the route ('': 1)
-- Returns what it was: ready, delayed (both gone now), in-flight (asked), dead (kept), unknown;
--         or {MOVED, least version}: that of the route is lower.
--         An id in a lane stays there as a mark until its turn, and cannot be used again before
--         that. O(1).
local base, id, routed = KEYS[1], ARGV[1], ARGV[2]
-- uses: moved
local c, j, g = base .. ':c', base .. ':j', nil
local body = redis.call('HGET', j, id)
if not body then return 'unknown' end
if redis.call('ZSCORE', base .. ':dead', id) then return 'dead' end
-- uses: check_hashes, end_cancelled, leave_delayed, wake, group_of, ours, mark, probe_tenant
g = base .. ':g:' .. group_of(body)
ours('HLEN', g)
probe_tenant(group_of(body))
ours('SCARD', base .. ':dg:' .. group_of(body))
redis.call('ZCARD', base .. ':du')
check_hashes('c', 'cx', 'cn', 'at', 'cr', 'er', 'ua')
-- uses: who_owns, epochs_in_flight
local runs = false
for _, e in ipairs(epochs) do runs = runs or redis.call('ZSCORE', base .. ':fl:' .. e, id) end
-- uses: make_way
if runs then
  redis.call('HSET', base .. ':cn', id, now)
  wake('c')
  return 'in-flight'
end
local was = 'ready'
if leave_delayed(id, group_of(body)) then
  was = 'delayed'
else
  mark(id, body)
end
end_cancelled(id, g, #body)
return was
