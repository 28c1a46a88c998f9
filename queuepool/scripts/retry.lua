#!lua flags=allow-oom
-- retry: send running jobs back to delayed, to run again when their delay is over.
-- KEYS[1] base; derived: o dr c j fl:<epoch> dl at cr er pr cn g:<group> dn:<0|1>
-- ARGV    nonce, epoch, then n * (id, delay ms, charge (1: counts as a failed attempt), error or '')
-- Returns one character a job: r retried, c cancelled instead (it was asked for), 0 not in this book;
--         or {FENCED, current epoch}. A draining owner may. O(n log delayed).
local base, book = KEYS[1], KEYS[1] .. ':fl:' .. ARGV[2]
local c, j, dl, cn = base .. ':c', base .. ':j', base .. ':dl', base .. ':cn'
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
local dn, bodies = base .. ':dn:' .. math.floor(now / 60000) % 2, {}
redis.call('ZCARD', dl)
redis.call('SCARD', dn)
for _, k in ipairs({'c', 'at', 'cr', 'er', 'pr', 'cn'}) do redis.call('HLEN', base .. ':' .. k) end
for i = 3, #ARGV, 4 do
  local body = redis.call('HGET', j, ARGV[i])
  if body and redis.call('ZSCORE', book, ARGV[i]) then
    local g = base .. ':g:' .. string.sub(body, 19, 18 + (tonumber(string.sub(body, 17, 18), 16) or 0))
    local cut = tonumber(redis.call('HGET', g, 'cancelled_at') or -1)
    local cancelled = redis.call('HEXISTS', cn, ARGV[i]) == 1 or (tonumber(string.sub(body, 3, 13), 16) or 0) <= cut
    bodies[i] = {g = g, size = #body, cancelled = cancelled}
  end
end
local status = {}
for i = 3, #ARGV, 4 do
  local id, job = ARGV[i], bodies[i]
  if not job or redis.call('ZREM', book, id) == 0 then
    status[#status + 1] = '0'
  else
    redis.call('HDEL', base .. ':pr', id)
    if job.cancelled then
      redis.call('HDEL', j, id)
      for _, k in ipairs({'at', 'cr', 'er', 'cn'}) do redis.call('HDEL', base .. ':' .. k, id) end
      redis.call('SADD', dn, '!' .. id)
      redis.call('PEXPIREAT', dn, (math.floor(now / 60000) + 2) * 60000, 'NX')
      redis.call('HINCRBY', c, 'cancelled', 1)
      redis.call('HINCRBY', c, 'bytes', -job.size)
      redis.call('HINCRBY', job.g, 'cancelled', 1)
      if redis.call('HINCRBY', job.g, 'left', -1) <= 0 then
        redis.call('HSET', job.g, 'finished', now)
        local total, dead = unpack(redis.call('HMGET', job.g, 'total', 'dead')) -- kept for a minute a job, at most a day
        if tonumber(dead or 0) <= 0 then redis.call('PEXPIRE', job.g, math.min(86400000, 60000 * (total or 1))) end
      end
    else
      redis.call('ZADD', dl, now + ARGV[i + 1], id)
      redis.call('HINCRBY', job.g, 'delayed', 1)
      redis.call('HINCRBY', c, 'retried', 1)
      if ARGV[i + 2] == '1' then
        redis.call('HINCRBY', base .. ':at', id, 1)
        redis.call('HINCRBY', c, 'failed', 1)
      end
      if ARGV[i + 3] ~= '' then redis.call('HSET', base .. ':er', id, ARGV[i + 3]) end
    end
    status[#status + 1] = job.cancelled and 'c' or 'r'
  end
end
return table.concat(status)
