#!lua flags=allow-oom
-- hand_back: return claimed jobs, uncharged and in order, to the front of their lanes.
-- ROLES   consumer ops
-- KEYS[1] base; derived: o dr c j wk fl:<epoch> at cr er pr cn g:<group> dn:<0|1> q:<tier>:<group>
--         ring:<0-3> tr:<0-3>:<tenant> tn:<tenant> mt tt:<tenant> mg u uk ex lm ll ga dl fo
-- ARGV    nonce, epoch, then n * (id, stamp of the body that was claimed ('': whichever)), in claim
--         order
-- Returns how many were in this in-flight set with that body; or {FENCED, current epoch}. A
-- draining         owner may call it. Jobs with a cancel request end here instead. O(n).
local base, book = KEYS[1], KEYS[1] .. ':fl:' .. ARGV[2]
local c, j = base .. ':c', base .. ':j'
-- uses: fence_or_drain, check_hashes, check_lane, end_cancelled, is_cancelled, is_claimed
-- uses: push_front, wake, group_of, tier_of, count_ready, ours, tune, leave
local bodies = {}
check_hashes('c', 'pr', 'cn', 'at', 'cr', 'er')
for i = 3, #ARGV, 2 do
  local body = redis.call('ZSCORE', book, ARGV[i]) and redis.call('HGET', j, ARGV[i])
  if body and is_claimed(body, ARGV[i + 1]) then
    local tier, group = tier_of(body), group_of(body)
    local g = base .. ':g:' .. group
    bodies[i] = {tier = tier, group = group, size = #body, g = g,
      cancelled = is_cancelled(ARGV[i], body, g)}
    check_lane(bodies[i])
  end
end
-- uses: make_way
local n, back = 0, 0
for i = #ARGV - 1, 3, -2 do
  local job = bodies[i]
  if job and redis.call('ZREM', book, ARGV[i]) == 1 then
    n = n + 1
    redis.call('HDEL', base .. ':pr', ARGV[i])
    if job.cancelled then
      end_cancelled(ARGV[i], job.g, job.size)
    else
      back = back + 1
      push_front(job, ARGV[i])
      count_ready(job.tier, job.group, 1)
      if managed then tune(job.group) end
    end
    leave(job.group, 1)
  end
end
if back > 0 then wake('w') end
return n
