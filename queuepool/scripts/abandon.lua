#!lua flags=allow-oom
-- abandon: end running jobs as cancelled, because cancellation was requested and they stopped.
-- KEYS[1] base; derived: o dr c j fl:<epoch> at cr er pr cn g:<group> dn:<0|1>
-- ARGV    nonce, epoch, ids (1-200)
-- Returns how many were in this book; or {FENCED, current epoch}. A draining owner may. O(n).
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
for _, k in ipairs({'c', 'at', 'cr', 'er', 'pr', 'cn'}) do redis.call('HLEN', base .. ':' .. k) end
for i = 3, #ARGV do
  bodies[i] = redis.call('ZSCORE', book, ARGV[i]) and redis.call('HGET', j, ARGV[i])
  if bodies[i] then redis.call('HLEN', base .. ':g:' .. string.sub(bodies[i], 19, 18 + (tonumber(string.sub(bodies[i], 17, 18), 16) or 0))) end
end
local n = 0
for i = 3, #ARGV do
  local id, body = ARGV[i], bodies[i]
  if body and redis.call('ZREM', book, id) == 1 then
    n = n + 1
    for _, k in ipairs({'j', 'at', 'cr', 'er', 'pr', 'cn'}) do redis.call('HDEL', base .. ':' .. k, id) end
    redis.call('SADD', dn, '!' .. id)
    redis.call('HINCRBY', c, 'cancelled', 1)
    redis.call('HINCRBY', c, 'bytes', -#body)
    local g = base .. ':g:' .. string.sub(body, 19, 18 + (tonumber(string.sub(body, 17, 18), 16) or 0))
    redis.call('HINCRBY', g, 'cancelled', 1)
    if redis.call('HINCRBY', g, 'left', -1) <= 0 then
      redis.call('HSET', g, 'finished', now)
      local total, dead = unpack(redis.call('HMGET', g, 'total', 'dead')) -- kept for a minute a job, at most a day
      if tonumber(dead or 0) <= 0 then redis.call('PEXPIRE', g, math.min(86400000, 60000 * (total or 1))) end
    end
  end
end
if n > 0 then redis.call('PEXPIREAT', dn, (window + 2) * 60000, 'NX') end
return n
