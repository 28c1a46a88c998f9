-- No body that is ready or in flight is larger than `largest` in c; unknown if that is missing.
-- uses: whole
local function raise_largest(known, size) -- known: its value when the script began
  if known and size > whole(known) then redis.call('HSET', c, 'largest', size) end
end
