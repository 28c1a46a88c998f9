#!lua flags=allow-oom
-- promote: move delayed jobs that are due, at most 100, to the back of their lanes.
-- KEYS[1] base; derived: o c j dl wk at cr er dn:<0|1> g:<group> q:<tier>:<group> ring:<tier>
-- ARGV    nonce, epoch
-- Returns {promoted, cancelled, ms until the next is due (0: more are due now, -1: none waits)};
--         or {FENCED, current epoch}. Jobs of a group cancelled since are dropped here. O(100 log delayed).
local base, c, j, dl = KEYS[1], KEYS[1] .. ':c', KEYS[1] .. ':j', KEYS[1] .. ':dl'
local owner = redis.call('HMGET', base .. ':o', 'nonce', 'epoch')
if owner[1] ~= ARGV[1] or owner[2] ~= ARGV[2] then
  redis.call('HINCRBY', c, 'fenced', 1)
  return {'FENCED', owner[2] or '0'}
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local stamp, window = string.format('%011x', now), math.floor(now / 60000)
local dn = base .. ':dn:' .. window % 2
local ids, jobs = redis.call('ZRANGEBYSCORE', dl, '-inf', now, 'LIMIT', 0, 100), {}
local bodies = #ids > 0 and redis.call('HMGET', j, unpack(ids)) or {}
if #ids > 0 then
  redis.call('SCARD', dn)
  redis.call('LLEN', base .. ':wk')
  for _, k in ipairs({'c', 'at', 'cr', 'er'}) do redis.call('HLEN', base .. ':' .. k) end
end
for k = 1, #ids do
  local body = bodies[k]
  if body then
    local tier, group = string.match(body, '^.([0-3])') or '2', string.sub(body, 19, 18 + (tonumber(string.sub(body, 17, 18), 16) or 0))
    local g = base .. ':g:' .. group
    redis.call('LLEN', base .. ':q:' .. tier .. ':' .. group)
    redis.call('LLEN', base .. ':ring:' .. tier)
    local cut = tonumber(redis.call('HGET', g, 'cancelled_at') or -1)
    jobs[k] = {tier = tier, group = group, g = g, size = #body, cancelled = (tonumber(string.sub(body, 3, 13), 16) or 0) <= cut}
  end
end
local promoted, cancelled = 0, 0
for k, id in ipairs(ids) do
  local job = jobs[k]
  redis.call('ZREM', dl, id)
  if job then
    redis.call('HINCRBY', job.g, 'delayed', -1)
    if job.cancelled then
      cancelled = cancelled + 1
      for _, f in ipairs({'j', 'at', 'cr', 'er'}) do redis.call('HDEL', base .. ':' .. f, id) end
      redis.call('SADD', dn, '!' .. id)
      redis.call('PEXPIREAT', dn, (window + 2) * 60000, 'NX')
      redis.call('HINCRBY', c, 'cancelled', 1)
      redis.call('HINCRBY', c, 'bytes', -job.size)
      redis.call('HINCRBY', job.g, 'cancelled', 1)
      if redis.call('HINCRBY', job.g, 'left', -1) <= 0 then
        redis.call('HSET', job.g, 'finished', now)
        local total, dead = unpack(redis.call('HMGET', job.g, 'total', 'dead')) -- kept for a minute a job, at most a day
        if tonumber(dead or 0) <= 0 then redis.call('PEXPIRE', job.g, math.min(86400000, 60000 * (total or 1))) end
      end
    else
      promoted = promoted + 1
      redis.call('HINCRBY', c, 'r' .. job.tier, 1)
      if redis.call('RPUSH', base .. ':q:' .. job.tier .. ':' .. job.group, id) == 1 then
        redis.call('RPUSH', base .. ':ring:' .. job.tier, job.tier .. stamp .. job.group)
      end
    end
  end
end
if promoted > 0 and not redis.call('LPOS', base .. ':wk', 'w') then redis.call('RPUSH', base .. ':wk', 'w') end
local following = redis.call('ZRANGE', dl, 0, 0, 'WITHSCORES')
return {promoted, cancelled, following[2] and math.max(0, following[2] - now) or -1}
