#!lua flags=allow-oom
-- hold_task: start no more jobs of a task, or let them start again.
-- ROLES   producer coordinator ops
-- KEYS[1] base; derived: c ht wk
-- ARGV    task, how envelopes of its jobs begin ('': release it), version of the route ('': 1)
-- Returns 1 if that changed anything, else 0; -1 if as many tasks as may be are on record; {MOVED,
--         least version}: that of the route is lower.
-- A claim delays the jobs of held tasks until the release, once each. A released task stays on
-- record as 0 until its owner has made these due (rouse). Claimed jobs continue. O(1).
local base, task, routed = KEYS[1], ARGV[1], ARGV[3]
-- uses: moved, clock, wake, is_held
local ht, hold = base .. ':ht', ARGV[2] ~= ''
if is_held(task) == hold then return 0 end
if hold then
  if redis.call('HLEN', ht) >= 100 and redis.call('HEXISTS', ht, task) == 0 then return -1 end
  redis.call('HSET', ht, task, string.format('%.0f', now) .. ARGV[2])
  redis.call('HSET', base .. ':c', 'rare', 1)
else
  wake('w') -- before the first write: the key may have a value of another type
  redis.call('HSET', ht, task, 0)
end
return 1
