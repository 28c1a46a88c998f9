#!lua flags=allow-oom
-- start: book claimed jobs as running, so that a crash from now on counts against them.
-- ROLES   consumer ops
-- KEYS[1] base; derived: o dr c fl:<epoch> u uk ex
-- ARGV    nonce, epoch, ids (1-200)
-- Returns how many are in this book; or {FENCED, current epoch}. A draining owner may. O(n log
--         book).
-- Their score is the ms they start, to the us, and half a us for their place in the call. A call
-- takes longer than that, so scores of the next one are above, and the book is in the order in
-- which jobs began.
local base, book = KEYS[1], KEYS[1] .. ':fl:' .. ARGV[2]
local c = base .. ':c'
-- uses: fence_or_drain, special
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local scores, n, begun = redis.call('ZMSCORE', book, unpack(ARGV, 3)), 0, {}
for i = #scores, 1, -1 do -- from the last on: the first mention of an id is its place
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
