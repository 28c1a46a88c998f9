#!lua flags=allow-oom
-- pools: which pools a partition has besides the default one; add one.
-- ROLES   producer consumer coordinator ops-read ops
-- KEYS[1] base of the default pool; derived: pl c
-- ARGV    pool to add ('' to only look), how many there may be, version of the route ('': 1)
-- Returns the names; without the one to add if there would be too many. Or {MOVED, least version},
--         with nothing written: that of the route is lower. O(pools).
-- A pool that is new here was not told which versions to accept: so the default one is asked.
local base, routed = KEYS[1], ARGV[3]
-- uses: moved, clock
local pl = base .. ':pl'
local names = redis.call('HKEYS', pl)
if ARGV[1] == '' or #names >= tonumber(ARGV[2]) then return names end
-- Checking first, so that adding one again writes nothing
if redis.call('HEXISTS', pl, ARGV[1]) == 0 then
  redis.call('HSETNX', pl, ARGV[1], now)
  names[#names + 1] = ARGV[1]
end
return names
