-- Of the bodies that are ready or in flight none is larger than `largest` of c; unknown when it is
-- not there.
-- uses: whole
local function raise_largest(known, size) -- known: what it was when the script began
  if known and size > whole(known) then redis.call('HSET', c, 'largest', size) end
end
