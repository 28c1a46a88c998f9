#!lua flags=allow-oom
-- hasten: make a delayed job due now.
-- ROLES   ops
-- KEYS[1] base; derived: j dl du wk g:<group>
-- ARGV    id
-- Returns 1; 0 if it is not delayed; -1 if its group is on its way to another partition. O(log
--         delayed).
local base, id = KEYS[1], ARGV[1]
-- uses: clock, ours, wake, move_due, group_of
redis.call('ZCARD', base .. ':du')
ours('LLEN', base .. ':wk')
local due = redis.call('ZSCORE', base .. ':dl', id)
if not due then return 0 end
local body = redis.call('HGET', base .. ':j', id)
local moving = body and ours('HGET', base .. ':g:' .. group_of(body), 'moving')
-- uses: make_way
if moving then return -1 end
if tonumber(due) > now then move_due(id, now) end
wake('d')
return 1
