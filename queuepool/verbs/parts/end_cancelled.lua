-- uses: remember, settle, add, let_go, tally, tell
local function end_cancelled(id, g, size) -- a job that has left its place ends as cancelled
  tell(id, 'c')
  for _, k in ipairs({'j', 'at', 'cr', 'er', 'cn'}) do redis.call('HDEL', base .. ':' .. k, id) end
  let_go({id}, 1, 1)
  remember({'!' .. id}, 1, 1)
  add(c, 'cancelled', 1)
  add(c, 'bytes', -size)
  add(g, 'cancelled', 1)
  tally(string.sub(g, #base + 4), 'cancelled', 1)
  settle(g, 1)
end
