#!lua flags=allow-oom
-- finish: record the end of jobs that succeeded and forget them.
-- ROLES   consumer ops
-- KEYS[1] base; derived: o dr c j fl:<epoch> g:<group> dn:<0|1> r:<id> at cr er pr cn mg
--         ring:<0-3> tr:<0-3>:<tenant> tn:<tenant> mt tt:<tenant> u uk ex lm ga dl wk
-- ARGV    nonce, epoch, how many ids, ids of one group after the other, then of each group: its
--         name, its bytes, its number of ids, m, m * (id, ttl ms, result)
-- Returns {finished, duplicates, how many are left alone, their ids ...}; or {FENCED, current
--         epoch}. A draining owner may call it.
-- An id that is not in flight here and has no body was finished before: a duplicate. One that has
-- a body is left alone, since that may be another job of the same id; finish_stray tells them
-- apart. O(n).
local redis, ARGV, tonumber, words, base = redis, ARGV, tonumber, #ARGV, KEYS[1]
local j, c, in_flight = base .. ':j', base .. ':c', base .. ':fl:' .. ARGV[2]
-- uses: fence_or_drain
if ARGV[3] == '0' then return {0, 0, 0} end -- commands below want an id
-- uses: clock, ended_sets, foreign, whole
local rare = redis.call('HLEN', base .. ':cn') > 0 or sets[5] or sets[6]
local jobs, managed, let_go_of, noted = redis.call('HLEN', j), false, nil, rare and {}
if rare then
  managed = redis.call('HLEN', base .. ':mg') > 0
  if managed then
    -- uses: ours, probe_managed
  end
  if redis.call('EXISTS', base .. ':at', base .. ':cr', base .. ':er', base .. ':pr',
    base .. ':cn') > 0 then
    for _, k in ipairs({'at', 'cr', 'er', 'pr', 'cn'}) do
      if redis.call('HLEN', base .. ':' .. k) > 0 then noted[#noted + 1] = k end
    end
  end
  -- uses: let_go
  let_go_of = let_go
  if special and special.lm then -- not if all that name limits are parked
    special.lm = redis.call('HLEN', base .. ':lm') ~= whole(redis.call('HGET', c, 'parked'))
  end
end

-- uses: finish/read_groups
-- One id needs no second call: its removal tells whether it was in flight.
local held = groups > 5 and redis.call('ZMSCORE', in_flight, unpack(ARGV, 4, groups - 1)) or {}
-- uses: count_done
if foreign then
  -- uses: make_way
end

-- What ends is gone[first .. last]: all ids, or only some of them, with the numbers and bytes by
-- group in sizes and sums, and with those left alone in left and, by id, in kept.
local gone, first, last, sizes, sums, left, kept = ARGV, 4, groups - 1, nil, nil, nil, nil
if redis.call('ZREM', in_flight, unpack(ARGV, 4, groups - 1)) < last - first + 1 then
  -- uses: finish/sort_out
end

-- uses: finish/record
if last >= first then
  if not stands then
    -- uses: switch_sets
  end
  redis.call('SADD', dn, unpack(gone, first, last))
  if rare then
    for _, k in ipairs(noted) do
      redis.call('HDEL', base .. ':' .. k, unpack(gone, first, last))
    end
    let_go_of(gone, first, last)
  end
end
redis.call('HSET', c, 'done', string.format('%d', whole(sets[3]) + finished),
  'bytes', jobs == finished and '0' or string.format('%d', whole(sets[4]) - freed))
local duplicates = groups - 4 - finished - (left and #left or 0)
if duplicates > 0 then
  -- uses: add
  add(c, 'duplicate_finish', duplicates)
end
if not left then return {finished, duplicates, 0} end
return {finished, duplicates, #left, unpack(left)}
