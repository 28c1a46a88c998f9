#!lua flags=allow-oom
-- route: create the record of the route if there is none; return it.
-- ROLES   producer consumer coordinator ops-read ops
-- KEYS[1] system base; derived: route
-- ARGV    n * (field, value) of the record to create; nothing (older versions): only read it
-- Returns [field, value ...] of the record; empty if there is none, and the caller may not create
--         it. One script: if two processes start at once with different counts, one must see the
--         other's. O(1).
local route = KEYS[1] .. ':route'
-- uses: clock
-- A producer's user may only read it. Checking first avoids entries in the server's ACL log.
-- HSETNX: the users that create it cannot change it, whatever script they send.
local makes = #ARGV > 0 and redis.acl_check_cmd('HSETNX', route, 'version', 1)
if redis.call('HLEN', route) == 0 and makes then
  for i = 1, #ARGV - 1, 2 do redis.call('HSETNX', route, ARGV[i], ARGV[i + 1]) end
  redis.call('HSETNX', route, 'created', now)
end
return redis.call('HGETALL', route)
