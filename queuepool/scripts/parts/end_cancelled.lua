-- uses: remember, settle
local function end_cancelled(id, g, size) -- a job that has left its place ends as cancelled
  for _, k in ipairs({'j', 'at', 'cr', 'er', 'cn'}) do redis.call('HDEL', base .. ':' .. k, id) end
  remember({'!' .. id}, 1, 1)
  redis.call('HINCRBY', c, 'cancelled', 1)
  redis.call('HINCRBY', c, 'bytes', -size)
  redis.call('HINCRBY', g, 'cancelled', 1)
  settle(g, 1)
end
