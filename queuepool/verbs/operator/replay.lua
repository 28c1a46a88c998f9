#!lua
-- replay: send dead jobs back to their lanes with a clean record, as if just enqueued.
-- ROLES   ops
-- KEYS[1] base; derived: dead j c wk at cr er g:<group> q:<tier>:<group> ring:<0-3>
--         tr:<0-3>:<tenant> tn:<tenant> mt tt:<tenant> mg u uk dl lm ll fo
-- ARGV    ids (1-200)
-- Returns {how many are in their lanes again, ids of those that stay dead ...}: another job holds
--         their unique key, or their group is on its way to another partition. O(n).
local base, c = KEYS[1], KEYS[1] .. ':c'
-- uses: check_hashes, check_lane, push, group_of, tier_of, restamp, wake, raise_largest, add
-- uses: newest_cut, ours, holder_of, count_ready, tune
-- uses: probe_managed, is_state, list_managed, tell
local jobs, n, most, kept = {}, 0, 0, {}
local cut, largest = unpack(redis.call('HMGET', c, 'cut', 'largest'))
check_hashes('at', 'cr', 'er', 'u', 'uk')
for i, id in ipairs(ARGV) do
  local body = redis.call('ZSCORE', base .. ':dead', id) and redis.call('HGET', base .. ':j', id)
  if body then
    local tier, group = tier_of(body), group_of(body)
    local said = redis.call('HGET', base .. ':uk', id)
    jobs[i] = {tier = tier, group = group, body = body, key = said and string.sub(said, 2),
      started = said and string.sub(said, 1, 1) == 'S'}
    check_lane(jobs[i])
    local f = ours('HMGET', base .. ':g:' .. group, 'state', 'moving') or {}
    jobs[i].managed, jobs[i].moving = is_state(f[1]), f[2]
  end
end
-- uses: make_way
for i, id in ipairs(ARGV) do
  local job = jobs[i]
  if job and (job.moving or job.key and holder_of(job.key)) then
    kept[#kept + 1] = id
  elseif job and redis.call('ZREM', base .. ':dead', id) == 1 then
    n = n + 1
    most = math.max(most, #job.body)
    for _, k in ipairs({'at', 'cr', 'er'}) do redis.call('HDEL', base .. ':' .. k, id) end
    redis.call('HSET', base .. ':j', id, restamp(job.body, newest_cut(cut)))
    tell(id, 'r')
    if job.key then redis.call('HSET', base .. ':u', job.key, id) end
    if job.started then redis.call('HSET', base .. ':uk', id, 's' .. job.key) end
    if job.managed then -- it may have had no work left
      list_managed(job.group)
      managed = true
    end
    push(job, {id})
    count_ready(job.tier, job.group, 1)
    add(c, 'replayed', 1)
    add(c, 'dead_bytes', 0 - #job.body) -- not -#: Redis 7.0 rejects -0
    add(base .. ':g:' .. job.group, 'dead', -1)
    add(base .. ':g:' .. job.group, 'left', 1)
    if managed then tune(job.group) end
  end
end
if n > 0 then raise_largest(largest, most); wake('w') end
return {n, unpack(kept)}
