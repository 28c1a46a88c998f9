#!lua flags=allow-oom
-- hand_back: return claimed jobs, uncharged and in order, to the front of their lanes.
-- KEYS[1] base; derived: o dr c j wk fl:<epoch> at cr er pr cn g:<group> dn:<0|1> q:<tier>:<group> ring:<tier>
-- ARGV    nonce, epoch, ids in claim order (1-200)
-- Returns how many were in this book; or {FENCED, current epoch}. A draining owner may. Jobs that
-- were asked to cancel end here instead. O(n).
local base, book = KEYS[1], KEYS[1] .. ':fl:' .. ARGV[2]
local c, j = base .. ':c', base .. ':j'
local owner = redis.call('HMGET', base .. ':o', 'nonce', 'epoch')
if owner[1] ~= ARGV[1] or owner[2] ~= ARGV[2] then
  local leaving = redis.call('HGET', base .. ':dr', ARGV[2])
  if not leaving or string.find(leaving, ARGV[1] .. ':', 1, true) ~= 1 then
    redis.call('HINCRBY', c, 'fenced', 1)
    return {'FENCED', owner[2] or '0'}
  end
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local window, bodies = math.floor(now / 60000), {}
local dn = base .. ':dn:' .. window % 2
redis.call('SCARD', dn)
redis.call('LLEN', base .. ':wk')
for _, k in ipairs({'c', 'pr', 'cn', 'at', 'cr', 'er'}) do redis.call('HLEN', base .. ':' .. k) end
for i = 3, #ARGV do
  local body = redis.call('ZSCORE', book, ARGV[i]) and redis.call('HGET', j, ARGV[i])
  if body then
    local tier, group = string.match(body, '^.([0-3])') or '2', string.sub(body, 19, 18 + (tonumber(string.sub(body, 17, 18), 16) or 0))
    bodies[i] = {tier = tier, group = group, size = #body, lane = base .. ':q:' .. tier .. ':' .. group, g = base .. ':g:' .. group}
    local cut = tonumber(redis.call('HGET', bodies[i].g, 'cancelled_at') or -1)
    bodies[i].cancelled = redis.call('HEXISTS', base .. ':cn', ARGV[i]) == 1 or (tonumber(string.sub(body, 3, 13), 16) or 0) <= cut
    redis.call('LLEN', bodies[i].lane)
    redis.call('LLEN', base .. ':ring:' .. tier)
  end
end
local n, back = 0, 0
for i = #ARGV, 3, -1 do
  local job = bodies[i]
  if job and redis.call('ZREM', book, ARGV[i]) == 1 then
    n = n + 1
    redis.call('HDEL', base .. ':pr', ARGV[i])
    if job.cancelled then
      for _, k in ipairs({'j', 'at', 'cr', 'er', 'cn'}) do redis.call('HDEL', base .. ':' .. k, ARGV[i]) end
      redis.call('SADD', dn, '!' .. ARGV[i])
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
      back = back + 1
      if redis.call('LPUSH', job.lane, ARGV[i]) == 1 then
        redis.call('RPUSH', base .. ':ring:' .. job.tier, job.tier .. string.format('%011x', now) .. job.group)
      end
      redis.call('HINCRBY', c, 'r' .. job.tier, 1)
    end
  end
end
if back > 0 and not redis.call('LPOS', base .. ':wk', 'w') then redis.call('RPUSH', base .. ':wk', 'w') end
return n
