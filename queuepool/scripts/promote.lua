#!lua flags=allow-oom
-- promote: move delayed jobs that are due, at most 100, to the back of their lanes.
-- KEYS[1] base; derived: o c j dl ua wk at cr er cn dn:<0|1> g:<group> q:<tier>:<group> ring:<tier>
-- ARGV    nonce, epoch
-- Returns {promoted, cancelled, ms until the next is due (0: more are due now, -1: none waits)};
--         or {FENCED, current epoch}. Jobs of a group cancelled since are dropped here. O(100 log delayed).
local base, c, j, dl = KEYS[1], KEYS[1] .. ':c', KEYS[1] .. ':j', KEYS[1] .. ':dl'
-- uses: fence, clock, end_cancelled, unaside, wake, group_of, tier_of, stamp_of
local stamp = string.format('%011x', now)
local ids, jobs = redis.call('ZRANGEBYSCORE', dl, '-inf', now, 'LIMIT', 0, 100), {}
local bodies = #ids > 0 and redis.call('HMGET', j, unpack(ids)) or {}
if #ids > 0 then
  redis.call('LLEN', base .. ':wk')
  for _, k in ipairs({'c', 'at', 'cr', 'er', 'cn', 'ua'}) do redis.call('HLEN', base .. ':' .. k) end
end
for k = 1, #ids do
  local body = bodies[k]
  if body then
    local tier, group = tier_of(body), group_of(body)
    local g = base .. ':g:' .. group
    redis.call('LLEN', base .. ':q:' .. tier .. ':' .. group)
    redis.call('LLEN', base .. ':ring:' .. tier)
    local cut = tonumber(redis.call('HGET', g, 'cancelled_at') or -1)
    jobs[k] = {tier = tier, group = group, g = g, size = #body, cancelled = stamp_of(body) <= cut}
  end
end
local promoted, cancelled = 0, 0
for k, id in ipairs(ids) do
  local job = jobs[k]
  redis.call('ZREM', dl, id)
  unaside(id)
  if job then
    redis.call('HINCRBY', job.g, 'delayed', -1)
    if job.cancelled then
      cancelled = cancelled + 1
      end_cancelled(id, job.g, job.size)
    else
      promoted = promoted + 1
      redis.call('HINCRBY', c, 'r' .. job.tier, 1)
      if redis.call('RPUSH', base .. ':q:' .. job.tier .. ':' .. job.group, id) == 1 then
        redis.call('RPUSH', base .. ':ring:' .. job.tier, job.tier .. stamp .. job.group)
      end
    end
  end
end
if promoted > 0 then wake('w') end
local following = redis.call('ZRANGE', dl, 0, 0, 'WITHSCORES')
return {promoted, cancelled, following[2] and math.max(0, following[2] - now) or -1}
