#!lua flags=allow-oom
-- cancel: cancel one job: remove it when it waits, ask its handler to stop when it runs.
-- KEYS[1] base; derived: j dl dead o dr rec c cx cn wk at cr er g:<group> fl:<epochs> dn:<0|1>
-- ARGV    id
-- Returns what it was: ready, delayed (both gone now), in-flight (asked), dead (kept), unknown. O(1):
-- an id in a lane stays there as a mark until its turn, and the id cannot be used again before.
local base, id = KEYS[1], ARGV[1]
local c, j, g = base .. ':c', base .. ':j', nil
local body = redis.call('HGET', j, id)
if not body then return 'unknown' end
if redis.call('ZSCORE', base .. ':dead', id) then return 'dead' end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local window = math.floor(now / 60000)
local dn = base .. ':dn:' .. window % 2
g = base .. ':g:' .. string.sub(body, 19, 18 + (tonumber(string.sub(body, 17, 18), 16) or 0))
redis.call('HLEN', g)
redis.call('SCARD', dn)
redis.call('LLEN', base .. ':wk')
for _, k in ipairs({'c', 'cx', 'cn', 'at', 'cr', 'er'}) do redis.call('HLEN', base .. ':' .. k) end
local books = redis.call('LRANGE', base .. ':rec', 0, 99)
for _, epoch in ipairs(redis.call('HKEYS', base .. ':dr')) do books[#books + 1] = epoch end
books[#books + 1] = redis.call('HGET', base .. ':o', 'epoch') or '0'
for _, epoch in ipairs(books) do
  if redis.call('ZSCORE', base .. ':fl:' .. epoch, id) then
    redis.call('HSET', base .. ':cn', id, now)
    if not redis.call('LPOS', base .. ':wk', 'c') then redis.call('RPUSH', base .. ':wk', 'c') end
    return 'in-flight'
  end
end
local was = 'ready'
if redis.call('ZREM', base .. ':dl', id) == 1 then
  was = 'delayed'
  redis.call('HINCRBY', g, 'delayed', -1)
else
  redis.call('HSET', base .. ':cx', id, 1)
  redis.call('HINCRBY', c, 'r' .. (string.match(body, '^.([0-3])') or '2'), -1)
end
for _, k in ipairs({'j', 'at', 'cr', 'er', 'cn'}) do redis.call('HDEL', base .. ':' .. k, id) end
redis.call('SADD', dn, '!' .. id)
redis.call('PEXPIREAT', dn, (window + 2) * 60000, 'NX')
redis.call('HINCRBY', c, 'cancelled', 1)
redis.call('HINCRBY', c, 'bytes', -#body)
redis.call('HINCRBY', g, 'cancelled', 1)
if redis.call('HINCRBY', g, 'left', -1) <= 0 then
  redis.call('HSET', g, 'finished', now)
  local total, dead = unpack(redis.call('HMGET', g, 'total', 'dead')) -- kept for a minute a job, at most a day
  if tonumber(dead or 0) <= 0 then redis.call('PEXPIRE', g, math.min(86400000, 60000 * (total or 1))) end
end
return was
