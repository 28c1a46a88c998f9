#!lua flags=allow-oom
-- discard: delete dead jobs for good.
-- ROLES   ops
-- KEYS[1] base; derived: dead j c at cr er g:<group>
-- ARGV    ids (1-200)
-- Returns how many were dead. O(n).
-- uses: group_of, add, whole, ours
local base, c, n = KEYS[1], KEYS[1] .. ':c', 0
local groups, sizes = {}, {}
for _, k in ipairs({'c', 'at', 'cr', 'er'}) do redis.call('HLEN', base .. ':' .. k) end
for i, id in ipairs(ARGV) do
  local body = redis.call('HGET', base .. ':j', id)
  if body then
    groups[i], sizes[i] = base .. ':g:' .. group_of(body), #body
    ours('HLEN', groups[i])
  end
end
-- uses: make_way
for i, id in ipairs(ARGV) do
  if redis.call('ZREM', base .. ':dead', id) == 1 then
    n = n + 1
    for _, k in ipairs({'j', 'at', 'cr', 'er'}) do redis.call('HDEL', base .. ':' .. k, id) end
    add(c, 'discarded', 1)
    if groups[i] then
      add(c, 'dead_bytes', 0 - sizes[i])
      add(c, 'bytes', 0 - sizes[i])
      add(groups[i], 'discarded', 1)
      if add(groups[i], 'dead', -1) <= 0 and whole(redis.call('HGET', groups[i], 'left')) <= 0 then
        local total = whole(redis.call('HGET', groups[i], 'total'))
        local ttl_ms = math.max(60000, math.min(86400000, math.floor(60000 * total)))
        redis.call('PEXPIRE', groups[i], ttl_ms)
      end
    end
  end
end
return n
