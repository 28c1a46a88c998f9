#!lua flags=allow-oom
-- bury: move running jobs that will not be retried to dead, and keep dead within its bounds.
-- ROLES   consumer ops
-- KEYS[1] base; derived: o dr c j fl:<epoch> dead at cr er pr cn g:<group> mg ring:<0-3>
--         tr:<0-3>:<tenant> tn:<tenant> mt tt:<tenant> u uk ex lm ga dl wk fo
-- ARGV    nonce, epoch, dead jobs kept, dead bytes kept, ms a dead job is kept, then n * (id,
--         error, stamp of the body that was claimed ('': whichever))
-- Returns {one character per job: b buried, 0 not in flight here or another body; evicted}; or
--         {FENCED, current epoch}.
-- Each job buried evicts at most two of the oldest; evictions are counted, also in their groups. A
-- draining owner may.
local base, book = KEYS[1], KEYS[1] .. ':fl:' .. ARGV[2]
local c, j, dead = base .. ':c', base .. ':j', base .. ':dead'
-- uses: fence_or_drain, check_hashes, is_claimed, group_of, bury, forget_dead, add, whole, ours
-- uses: probe_tenant, leave
check_hashes('at', 'cr', 'er', 'pr', 'cn')

local jobs, status, evicted, size = {}, {}, 0, whole(redis.call('HGET', c, 'dead_bytes'))
for i = 6, #ARGV, 3 do
  local body = redis.call('ZSCORE', book, ARGV[i]) and redis.call('HGET', j, ARGV[i])
  if body and is_claimed(body, ARGV[i + 2]) then
    jobs[i] = {g = base .. ':g:' .. group_of(body), group = group_of(body), size = #body}
    probe_tenant(group_of(body))
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
    add(base .. ':at', id, 1)
    add(c, 'failed', 1)
    bury(id, job.g, job.size, ARGV[i + 1])
    leave(job.group, 1)
    for _ = 1, 2 do
      local oldest = redis.call('ZRANGE', dead, 0, 0, 'WITHSCORES')
      local over = redis.call('ZCARD', dead) > tonumber(ARGV[3])
        or now - oldest[2] > tonumber(ARGV[5])
        or whole(redis.call('HGET', c, 'dead_bytes')) > tonumber(ARGV[4])
      if not over then break end
      local old = redis.call('HGET', j, oldest[1]) or ''
      redis.call('ZREM', dead, oldest[1])
      evicted = evicted + 1
      forget_dead(oldest[1], base .. ':g:' .. group_of(old), #old, 'evicted')
      if redis.call('ZCARD', dead) == 0 then break end
    end
  end
end
return {table.concat(status), evicted}
