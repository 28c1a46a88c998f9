#!lua
-- progress: store the progress of running jobs; refused if the server is out of memory.
-- ROLES   consumer ops
-- KEYS[1] base; derived: o dr c pr fl:<epoch>
-- ARGV    nonce, epoch, then n * (id, text of at most 256 bytes)
-- Returns how many were in flight here; or {FENCED, current epoch}. A draining owner may. O(n).
local base, book = KEYS[1], KEYS[1] .. ':fl:' .. ARGV[2]
local c = base .. ':c'
-- uses: fence_or_drain
redis.call('HLEN', c)
local n = 0
for i = 3, #ARGV, 2 do
  if redis.call('ZSCORE', book, ARGV[i]) then
    n = n + 1
    redis.call('HSET', base .. ':pr', ARGV[i], string.sub(ARGV[i + 1], 1, 256))
  end
end
if n > 0 then redis.call('HSET', c, 'tried', 1) end
return n
