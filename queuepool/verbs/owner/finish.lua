#!lua flags=allow-oom
-- finish: record the end of jobs that succeeded and forget them.
-- KEYS[1] base; derived: o dr c j fl:<epoch> g:<group> dn:<0|1> r:<id> at cr er pr cn
-- ARGV    nonce, epoch, how many ids, ids of one group after the other, then of each group: its
--         name, its bytes, its number of ids, m, m * (id, ttl ms, result)
-- Returns {finished, duplicates, how many are left alone, their ids ...}; or {FENCED, current
--         epoch}. A draining owner may.
-- An id that is not in this book and has no body was finished before: a duplicate. One that has a
-- body is left alone, since that may be another job of the same id; finish_stray tells them apart.
-- O(n).
local redis, ARGV, tonumber, words, base = redis, ARGV, tonumber, #ARGV, KEYS[1]
local book = base .. ':fl:' .. ARGV[2]
local j, c = base .. ':j', base .. ':c'
-- uses: fence_or_drain
if ARGV[3] == '0' then return {0, 0, 0} end -- commands below want an id
-- uses: clock, remember, note_foreign
local rare = redis.call('EXISTS', base .. ':at', base .. ':cr', base .. ':er', base .. ':pr',
  base .. ':cn') > 0
local jobs = redis.call('HLEN', j)
-- EXISTS looks at no type
if rare then
  for _, k in ipairs({'at', 'cr', 'er', 'pr', 'cn'}) do redis.call('HLEN', base .. ':' .. k) end
end
local groups = 4 + ARGV[3] -- from here on in ARGV
local i, totals = groups, {}
while i <= words do -- read every key before the first write
  local g = base .. ':g:' .. ARGV[i]
  local counts = redis.pcall('HMGET', g, 'left', 'done', 'total', 'dead')
  if counts.err then
    note_foreign(g, counts)
    counts = {}
  end
  totals[g] = counts
  local m = tonumber(ARGV[i + 3])
  i = i + 4
  -- SET takes any type
  for k = i, i + 3 * m - 1, 3 do redis.call('EXISTS', base .. ':r:' .. ARGV[k]) end
  i = i + 3 * m
end
local booked = redis.call('ZMSCORE', book, unpack(ARGV, 4, groups - 1))
-- uses: count_done
-- uses: make_way

-- What ends: all of them, or, when some are not in this book or named twice, those that are or have
-- no body.
local gone, first, last, sizes, sums, left, kept = ARGV, 4, groups - 1, {}, {}, {}, {}
if redis.call('ZREM', book, unpack(ARGV, 4, groups - 1)) < last - first + 1 then
  local named, k = {}, 4
  gone, first, last, i = {}, 1, 0, groups
  while i <= words do
    sizes[i], sums[i] = 0, 0 -- the caller's sum holds for all of them only
    for _ = 1, ARGV[i + 2] do
      local id = ARGV[k]
      if not named[id] then -- each once: after a failover one life may have claimed a job twice
        named[id] = true
        if not booked[k - 3] and redis.call('HEXISTS', j, id) == 1 then
          left[#left + 1] = id
          kept[id] = true
        else
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
while i <= words do
  local g, m, n = base .. ':g:' .. ARGV[i], tonumber(ARGV[i + 3]), sizes[i] or tonumber(ARGV[i + 2])
  freed = freed + (sums[i] or ARGV[i + 1])
  i = i + 4
  for k = i, i + 3 * m - 1, 3 do
    if not kept[ARGV[k]] and redis.call('HEXISTS', j, ARGV[k]) == 1 then
      redis.call('SET', base .. ':r:' .. ARGV[k], ARGV[k + 2], 'PX', ARGV[k + 1])
    end
  end
  i = i + 3 * m
  local d = n > 0 and redis.call('HDEL', j, unpack(gone, next, next + n - 1)) or 0
  next, finished = next + n, finished + d
  if d > 0 then count_done(g, d) end
end
if last >= first then
  remember(gone, first, last)
  if rare then
    for _, k in ipairs({'at', 'cr', 'er', 'pr', 'cn'}) do
      redis.call('HDEL', base .. ':' .. k, unpack(gone, first, last))
    end
  end
end
-- No number
if type(redis.pcall('HINCRBY', c, 'done', finished)) == 'table' then
  redis.call('HSET', c, 'done', finished)
end
if jobs == finished or type(redis.pcall('HINCRBY', c, 'bytes', 0 - freed)) == 'table' then
  redis.call('HSET', c, 'bytes', 0)
end
local duplicates = ARGV[3] - finished - #left
if duplicates > 0 then
  -- uses: add
  add(c, 'duplicate_finish', duplicates)
end
return {finished, duplicates, #left, unpack(left)}
