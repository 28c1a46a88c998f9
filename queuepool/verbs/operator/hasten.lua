#!lua flags=allow-oom
-- hasten: make a delayed job due now.
-- ROLES   ops
-- KEYS[1] base; derived: dl du wk
-- ARGV    id
-- Returns 1; 0 if it is not delayed. O(log delayed).
local base, id = KEYS[1], ARGV[1]
-- uses: clock, ours, wake, move_due
redis.call('ZCARD', base .. ':du')
ours('LLEN', base .. ':wk')
local due = redis.call('ZSCORE', base .. ':dl', id)
if not due then return 0 end
-- uses: make_way
if tonumber(due) > now then move_due(id, now) end
wake('d')
return 1
