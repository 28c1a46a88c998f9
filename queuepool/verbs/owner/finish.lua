#!lua flags=allow-oom
-- finish: record the end of jobs that succeeded and forget them.
-- ROLES   consumer ops
-- KEYS[1] base; derived: o dr c j fl:<epoch> g:<group> dn:<0|1> r:<id> at cr er pr cn
-- ARGV    nonce, epoch, how many ids, ids of one group after the other, then of each group: its
--         name, its bytes, its number of ids, m, m * (id, ttl ms, result)
-- Returns {finished, duplicates, how many are left alone, their ids ...}; or {FENCED, current
--         epoch}. A draining owner may.
-- An id that is not in flight here and has no body was finished before: a duplicate. One that has
-- a body is left alone, since that may be another job of the same id; finish_stray tells them
-- apart. O(n).
local redis, ARGV, tonumber, words, base = redis, ARGV, tonumber, #ARGV, KEYS[1]
local j, c, in_flight = base .. ':j', base .. ':c', base .. ':fl:' .. ARGV[2]
-- uses: fence_or_drain
if ARGV[3] == '0' then return {0, 0, 0} end -- commands below want an id
-- uses: clock, remember, foreign
local rare = redis.call('EXISTS', base .. ':at', base .. ':cr', base .. ':er', base .. ':pr',
  base .. ':cn') > 0
local jobs = redis.call('HLEN', j)
if rare then -- EXISTS looks at no type
  for _, k in ipairs({'at', 'cr', 'er', 'pr', 'cn'}) do redis.call('HLEN', base .. ':' .. k) end
end

-- uses: finish/read_groups
local held = redis.call('ZMSCORE', in_flight, unpack(ARGV, 4, groups - 1))
-- uses: count_done, only_wrong_types, make_way

-- What ends is gone[first .. last]: all ids, or only some of them, with the numbers and bytes by
-- group in sizes and sums.
local gone, first, last, sizes, sums, left, kept = ARGV, 4, groups - 1, {}, {}, {}, {}
if redis.call('ZREM', in_flight, unpack(ARGV, 4, groups - 1)) < last - first + 1 then
  -- uses: finish/sort_out
end

-- uses: finish/record
if last >= first then
  remember(gone, first, last)
  if rare then
    for _, k in ipairs({'at', 'cr', 'er', 'pr', 'cn'}) do
      redis.call('HDEL', base .. ':' .. k, unpack(gone, first, last))
    end
  end
end
if type(redis.pcall('HINCRBY', c, 'done', finished)) == 'table' then
  redis.call('HSET', c, 'done', finished) -- it was no number
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
