#!lua flags=allow-oom
-- bury: move running jobs that will not be retried to dead, and keep dead within its bounds.
-- ROLES   consumer ops
-- KEYS[1] base; derived: o dr c j fl:<epoch> dead at cr er pr cn g:<group>
-- ARGV    nonce, epoch, dead jobs kept, dead bytes kept, ms a dead job is kept, then n * (id,
--         error, stamp of the body that was claimed ('': whichever))
-- Returns {one character a job: b buried, 0 not in this book, or another body; evicted}; or
--         {FENCED, current epoch}.
-- Each job buried evicts at most two of the oldest; evictions are counted, also in their groups. A
-- draining owner may.
local base, book = KEYS[1], KEYS[1] .. ':fl:' .. ARGV[2]
local c, j, dead = base .. ':c', base .. ':j', base .. ':dead'
-- uses: fence_or_drain, clock, is_claimed, group_of, add, whole, ours
for _, k in ipairs({'at', 'cr', 'er', 'pr', 'cn'}) do redis.call('HLEN', base .. ':' .. k) end

local jobs, status, evicted, size = {}, {}, 0, whole(redis.call('HGET', c, 'dead_bytes'))
for i = 6, #ARGV, 3 do
  local body = redis.call('ZSCORE', book, ARGV[i]) and redis.call('HGET', j, ARGV[i])
  if body and is_claimed(body, ARGV[i + 2]) then
    jobs[i] = {g = base .. ':g:' .. group_of(body), size = #body}
    ours('HLEN', jobs[i].g)
    size = size + #body
  end
end
local first = redis.call('ZRANGE', dead, 0, 0, 'WITHSCORES')
if redis.call('ZCARD', dead) + (#ARGV - 5) / 3 > tonumber(ARGV[3]) or size > tonumber(ARGV[4])
  or first[2] and now - first[2] > tonumber(ARGV[5]) then -- some may be evicted
  for _, id in ipairs(redis.call('ZRANGE', dead, 0, 2 * (#ARGV - 5) / 3 - 1)) do
    ours('HLEN', base .. ':g:' .. group_of(redis.call('HGET', j, id) or ''))
  end
end
-- uses: make_way
for i = 6, #ARGV, 3 do
  local id, job = ARGV[i], jobs[i]
  if not job or redis.call('ZREM', book, id) == 0 then
    status[#status + 1] = '0'
  else
    status[#status + 1] = 'b'
    redis.call('HDEL', base .. ':pr', id)
    redis.call('HDEL', base .. ':cn', id)
    redis.call('ZADD', dead, now, id)
    add(base .. ':at', id, 1)
    redis.call('HSET', base .. ':er', id, ARGV[i + 1])
    add(c, 'failed', 1)
    add(c, 'died', 1)
    add(c, 'dead_bytes', job.size)
    add(job.g, 'dead', 1)
    if add(job.g, 'left', -1) <= 0 then redis.call('HSET', job.g, 'finished', now) end
    for _ = 1, 2 do
      local oldest = redis.call('ZRANGE', dead, 0, 0, 'WITHSCORES')
      local over = redis.call('ZCARD', dead) > tonumber(ARGV[3])
        or now - oldest[2] > tonumber(ARGV[5])
        or whole(redis.call('HGET', c, 'dead_bytes')) > tonumber(ARGV[4])
      if not over then break end
      local old = redis.call('HGET', j, oldest[1]) or ''
      redis.call('ZREM', dead, oldest[1])
      for _, k in ipairs({'j', 'at', 'cr', 'er'}) do
        redis.call('HDEL', base .. ':' .. k, oldest[1])
      end
      evicted = evicted + 1
      add(c, 'evicted', 1)
      add(c, 'dead_bytes', 0 - #old) -- not -#old: Redis 7.0 reads no -0
      add(c, 'bytes', 0 - #old)
      local g = base .. ':g:' .. group_of(old)
      if #old > 0 then add(g, 'evicted', 1) end
      if #old > 0 and add(g, 'dead', -1) <= 0
        and whole(redis.call('HGET', g, 'left')) <= 0 then
        local total = whole(redis.call('HGET', g, 'total'))
        redis.call('PEXPIRE', g, math.max(60000, math.min(86400000, math.floor(60000 * total))))
      end
      if redis.call('ZCARD', dead) == 0 then break end
    end
  end
end
return {table.concat(status), evicted}
