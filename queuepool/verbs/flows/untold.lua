#!lua flags=allow-oom
-- untold: read what is to be told to batches, and forget what was told.
-- ROLES   consumer ops
-- KEYS[1] base; derived: o c fo
-- ARGV    nonce, epoch, entry after which to begin ('-': the first), entries at most, bytes that
--         they may have together, then entries that were told
-- Returns {how many are left, [entry, id of the job, end, stamp, result or error ...]}, at least
--         one if there are any; or {FENCED, current epoch}. O(entries).
local base, c, fo = KEYS[1], KEYS[1] .. ':c', KEYS[1] .. ':fo'
-- uses: fence
if ARGV[6] then redis.call('XDEL', fo, unpack(ARGV, 6)) end
local found, size = {}, 0
local first = ARGV[3] == '-' and '-' or '(' .. ARGV[3]
while #found < 3 * ARGV[4] and size <= tonumber(ARGV[5]) do
  local page = redis.call('XRANGE', fo, first, '+', 'COUNT', 20)
  for _, entry in ipairs(page) do
    first = '(' .. entry[1]
    if #found < 3 * ARGV[4] and (size <= tonumber(ARGV[5])) then
      found[#found + 1], found[#found + 2], found[#found + 3] = entry[1], entry[2][1], entry[2][2]
      size = size + #entry[2][2]
    end
  end
  if #page < 20 then break end
end
return {redis.call('XLEN', fo), found}
