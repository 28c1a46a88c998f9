#!lua flags=allow-oom
-- recover: return up to 200 in-flight jobs of a dead owner to the front of their lanes.
-- ROLES   consumer ops
-- KEYS[1] base; derived: o c j rec wk at cr cn er pr dead fl:<old epoch> q:<tier>:<group>
--         ring:<0-3> tr:<0-3>:<tenant> tn:<tenant> mt tt:<tenant> g:<group> dn:<0|1> mg u uk ex lm
--         ll ga dl fo
-- ARGV    nonce, epoch, crashes that bury a job, the error to store with it
-- Returns {in-flight sets left, recovered, crashed, cancelled, ids of those that it buried ...}; or
--         {FENCED, current epoch}.
-- Only started jobs are charged a crash; claimed ones may have started without a record, and are
-- recorded with 0 crashes, so that their next claim records them as started. Started ones come
-- first, in starting order; then the claimed ones in claim order. Call until no set is left.
-- O(200). The last crash is charged to the job that started last in the set: the owner starts
-- nothing for a moment after a job that it may bury. Any other job survives 3 more crashes, unless
-- a single crash buries.
local base, c, j, rec = KEYS[1], KEYS[1] .. ':c', KEYS[1] .. ':j', KEYS[1] .. ':rec'
local trials = 3
-- uses: fence
local old = redis.call('LINDEX', rec, 0)
if not old then return {0, 0, 0, 0} end
-- uses: check_hashes, check_lane, end_cancelled, is_cancelled, bury, push_front, wake, group_of
-- uses: tier_of, add, count_ready, ours, tune, leave
local book = base .. ':fl:' .. old
-- From the last to the first, each to the front: the next call puts the rest before these.
local entries = redis.call('ZREVRANGEBYSCORE', book, '(1e12', '-inf', 'WITHSCORES', 'LIMIT', 0, 200)
if #entries == 0 then entries = redis.call('ZREVRANGE', book, 0, 199, 'WITHSCORES') end
redis.call('ZCARD', base .. ':dead')
check_hashes('c', 'at', 'cr', 'er', 'pr', 'cn')
local jobs = {}
for i = 1, #entries, 2 do
  local body = redis.call('HGET', j, entries[i])
  if body then
    local tier, group = tier_of(body), group_of(body)
    local g = base .. ':g:' .. group
    jobs[i] = {tier = tier, group = group, g = g, size = #body,
      started = tonumber(entries[i + 1]) >= 1e12, cancelled = is_cancelled(entries[i], body, g)}
    check_lane(jobs[i])
  end
end
-- uses: make_way
local latest, most = nil, tonumber(ARGV[3])
if #entries > 0 and tonumber(entries[2]) >= 1e12
  and redis.call('HGET', base .. ':o', 'past') ~= old then
  latest = entries[1]
  -- The next step's are older
  if redis.call('ZCARD', book) > 200 then redis.call('HSET', base .. ':o', 'past', old) end
end
local recovered, crashed, buried, cancelled = 0, 0, {}, 0
for i = 1, #entries, 2 do
  local id, job = entries[i], jobs[i]
  redis.call('ZREM', book, id)
  redis.call('HDEL', base .. ':pr', id)
  if job and job.cancelled then
    cancelled = cancelled + 1
    end_cancelled(id, job.g, job.size)
  elseif job then
    if job.started then crashed = crashed + 1 end
    local bound = (id == latest or most < 2) and most or most + trials
    if job.started and add(base .. ':cr', id, 1) >= bound then
      buried[#buried + 1] = id
      bury(id, job.g, job.size, ARGV[4])
    else
      recovered = recovered + 1
      if not job.started then redis.call('HSETNX', base .. ':cr', id, 0) end
      push_front(job, id, true)
      count_ready(job.tier, job.group, 1)
      if managed then tune(job.group) end
    end
  end
  if job then leave(job.group, 1) end
end
add(c, 'recovered', recovered)
if #entries > 0 then redis.call('HSET', c, 'tried', 1) end
if recovered > 0 then wake('w') end
if redis.call('EXISTS', book) == 0 then redis.call('LPOP', rec) end
return {redis.call('LLEN', rec), recovered, crashed, cancelled, unpack(buried)}
