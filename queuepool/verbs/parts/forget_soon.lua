-- uses: whole
local function forget_soon(g, total) -- a group without work
  local keep, moved = unpack(redis.call('HMGET', g, 'keep', 'moved'))
  -- uses: expire_group
end
