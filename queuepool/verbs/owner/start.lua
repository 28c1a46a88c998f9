#!lua flags=allow-oom
-- start: record claimed jobs as running, so that a crash from now on is charged to them.
-- ROLES   consumer ops
-- KEYS[1] base; derived: o dr c fl:<epoch> u uk ex lm ga
-- ARGV    nonce, epoch, ids (1-200)
-- Returns how many are in this in-flight set; or {FENCED, current epoch}. A draining owner may call
--         it. O(n log in flight).
-- Their score is the start in ms, to the us, plus half a us per place in the call. A call takes
-- longer than that, so scores of the next one are higher, and the set is in starting order.
local base, book = KEYS[1], KEYS[1] .. ':fl:' .. ARGV[2]
local c = base .. ':c'
-- uses: fence_or_drain, special
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local scores, n, begun = redis.call('ZMSCORE', book, unpack(ARGV, 3)), 0, {}
for i = #scores, 1, -1 do -- from the last: the first occurrence of an id is its place
  if scores[i] then
    n = n + 1
    begun[n] = ARGV[i + 2]
    if tonumber(scores[i]) < 1e12 then
      redis.call('ZADD', book, 'XX', now + i / 2048, ARGV[i + 2])
    end
  end
end
if special and n > 0 then
  -- uses: note_start
  note_start(begun)
end
return n
