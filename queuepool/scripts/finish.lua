#!lua flags=allow-oom
-- finish: record the end of jobs that succeeded and forget them.
-- KEYS[1] base; derived: o dr rec c j fl:<epochs> dl dead cx g:<group> dn:<0|1> r:<id> at cr er pr cn
-- ARGV    nonce, epoch, how many ids, ids of one group after the other, then of each group: its name,
--         its bytes, its number of ids, m, m * (id, ttl ms, result)
-- Returns {finished, duplicates, rolled back}; or {FENCED, current epoch}. A draining owner may.
-- An id that is not in this book: without a body it was finished before; with one, a failover undid
-- the claim or the caller lost the partition in between, and the job is finished wherever it is. O(n).
local base, book = KEYS[1], KEYS[1] .. ':fl:' .. ARGV[2]
local j, c, dl = base .. ':j', base .. ':c', base .. ':dl'
-- uses: fence_or_drain
if ARGV[3] == '0' then return {0, 0, 0} end -- commands below want an id
-- uses: clock, remember, group_of, tier_of
local rare, jobs = redis.call('EXISTS', base .. ':at', base .. ':cr', base .. ':er', base .. ':pr', base .. ':cn') > 0, redis.call('HLEN', j)
if rare then for _, k in ipairs({'at', 'cr', 'er', 'pr', 'cn'}) do redis.call('HLEN', base .. ':' .. k) end end -- EXISTS looks at no type
local groups = 4 + ARGV[3] -- from here on in ARGV
local i, totals = groups, {}
while i <= #ARGV do -- read every key before the first write
  local g = base .. ':g:' .. ARGV[i]
  totals[g] = redis.call('HMGET', g, 'left', 'done', 'total', 'dead')
  local m = tonumber(ARGV[i + 3])
  i = i + 4
  for k = i, i + 3 * m - 1, 3 do redis.call('EXISTS', base .. ':r:' .. ARGV[k]) end -- SET takes any type
  i = i + 3 * m
end
local booked, elsewhere = redis.call('ZMSCORE', book, unpack(ARGV, 4, groups - 1)), false
for k = 1, #booked do elsewhere = elsewhere or not booked[k] end
local books = {} -- where else a job may be booked
if elsewhere then
  redis.call('ZCARD', dl)
  redis.call('ZCARD', base .. ':dead')
  redis.call('HLEN', base .. ':cx')
  books = redis.call('LRANGE', base .. ':rec', 0, 99)
  for _, e in ipairs(redis.call('HKEYS', base .. ':dr')) do books[#books + 1] = e end
  books[#books + 1] = owner[2]
  for _, e in ipairs(books) do redis.call('ZCARD', base .. ':fl:' .. e) end
end

local function stray(id) -- not in this book, but its body exists
  local body = redis.call('HGET', j, id)
  if not body then return 0 end
  local removed = 0
  for _, e in ipairs(books) do removed = removed + redis.call('ZREM', base .. ':fl:' .. e, id) end
  if removed > 0 then return 1 end
  if redis.call('ZREM', dl, id) == 1 then
    redis.call('HINCRBY', base .. ':g:' .. group_of(body), 'delayed', -1)
  else
    redis.call('HSET', base .. ':cx', id, 1)
    redis.call('HINCRBY', c, 'r' .. tier_of(body), -1)
  end
  return 1
end

local function count(g, n) -- n jobs of a group are done; with none left it is soon forgotten
  local left, done, total, dead = unpack(totals[g], 1, 4)
  if not done then -- none yet; or a version before took done for what the other states leave
    done = (total or 0) - (left or 0)
    if done ~= 0 then
      for _, ended in ipairs(redis.call('HMGET', g, 'dead', 'cancelled', 'evicted', 'discarded')) do done = done - (ended or 0) end
    end
  end
  left, done = (left or 0) - n, done + n
  totals[g] = {left, done, total, dead}
  if left > 0 then
    redis.call('HSET', g, 'left', left, 'done', done)
  else
    redis.call('HSET', g, 'left', left, 'done', done, 'finished', now)
    if tonumber(dead or 0) <= 0 then redis.call('PEXPIRE', g, math.min(86400000, 60000 * (total or 1))) end
  end
end

-- What ends: all of them, or, when some are not in this book or named twice, those that are left.
local gone, first, last, sizes, sums, rolled, buried = ARGV, 4, groups - 1, {}, {}, 0, {}
if redis.call('ZREM', book, unpack(ARGV, 4, groups - 1)) < last - first + 1 then
  local named, k = {}, 4
  gone, first, last, i = {}, 1, 0, groups
  while i <= #ARGV do
    sizes[i], sums[i] = 0, 0 -- the caller's sum holds for all of them only
    for _ = 1, ARGV[i + 2] do
      local id = ARGV[k]
      if not named[id] then -- each once: after a failover one life may have claimed a job twice
        named[id] = true
        if not booked[k - 3] and redis.call('ZSCORE', base .. ':dead', id) then
          buried[id] = true
        else
          if not booked[k - 3] then rolled = rolled + stray(id) end
          last = last + 1
          gone[last], sizes[i], sums[i] = id, sizes[i] + 1, sums[i] + redis.call('HSTRLEN', j, id)
        end
      end
      k = k + 1
    end
    i = i + 4 + 3 * ARGV[i + 3]
  end
end

local finished, freed, next = 0, 0, first
i = groups
while i <= #ARGV do
  local g, m, n = base .. ':g:' .. ARGV[i], tonumber(ARGV[i + 3]), sizes[i] or tonumber(ARGV[i + 2])
  freed = freed + (sums[i] or ARGV[i + 1])
  i = i + 4
  for k = i, i + 3 * m - 1, 3 do
    if not buried[ARGV[k]] and redis.call('HEXISTS', j, ARGV[k]) == 1 then
      redis.call('SET', base .. ':r:' .. ARGV[k], ARGV[k + 2], 'PX', ARGV[k + 1])
    end
  end
  i = i + 3 * m
  local d = n > 0 and redis.call('HDEL', j, unpack(gone, next, next + n - 1)) or 0
  next, finished = next + n, finished + d
  if d > 0 then count(g, d) end
end
if last >= first then
  remember(gone, first, last)
  if rare then for _, k in ipairs({'at', 'cr', 'er', 'pr', 'cn'}) do redis.call('HDEL', base .. ':' .. k, unpack(gone, first, last)) end end
end
redis.call('HINCRBY', c, 'done', finished)
if jobs == finished then redis.call('HSET', c, 'bytes', 0) else redis.call('HINCRBY', c, 'bytes', 0 - freed) end
local duplicates = ARGV[3] - finished
if duplicates > 0 then redis.call('HINCRBY', c, 'duplicate_finish', duplicates) end
if rolled > 0 then redis.call('HINCRBY', c, 'rollback_finish', rolled) end
return {finished, duplicates, rolled}
