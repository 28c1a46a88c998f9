#!lua flags=allow-oom
-- discard: delete dead jobs for good.
-- KEYS[1] base; derived: dead j c at cr er g:<group>
-- ARGV    ids (1-200)
-- Returns how many were dead. O(n).
-- uses: group_of
local base, c, n = KEYS[1], KEYS[1] .. ':c', 0
local groups, sizes = {}, {}
for _, k in ipairs({'c', 'at', 'cr', 'er'}) do redis.call('HLEN', base .. ':' .. k) end
for i, id in ipairs(ARGV) do
  local body = redis.call('HGET', base .. ':j', id)
  if body then
    groups[i], sizes[i] = base .. ':g:' .. group_of(body), #body
    redis.call('HLEN', groups[i])
  end
end
for i, id in ipairs(ARGV) do
  if redis.call('ZREM', base .. ':dead', id) == 1 then
    n = n + 1
    for _, k in ipairs({'j', 'at', 'cr', 'er'}) do redis.call('HDEL', base .. ':' .. k, id) end
    redis.call('HINCRBY', c, 'discarded', 1)
    if groups[i] then
      redis.call('HINCRBY', c, 'dead_bytes', 0 - sizes[i]) -- not -: Redis 7.0 reads no -0
      redis.call('HINCRBY', c, 'bytes', 0 - sizes[i])
      redis.call('HINCRBY', groups[i], 'discarded', 1)
      if redis.call('HINCRBY', groups[i], 'dead', -1) <= 0 and tonumber(redis.call('HGET', groups[i], 'left') or 0) <= 0 then
        redis.call('PEXPIRE', groups[i], math.min(86400000, 60000 * (redis.call('HGET', groups[i], 'total') or 1)))
      end
    end
  end
end
return n
