-- uses: shares
-- A group without settings counts its jobs no more.
local function unmanage(group)
  local g = base .. ':g:' .. group
  local f = redis.call('HMGET', g, 'hold', 'max', 'serial', 'weight', 'moved', 'moving')
  for k = 1, 6 do if f[k] then return end end
  redis.call('HDEL', mg, group)
  redis.call('HDEL', g, 'rt', 't0', 't1', 't2', 't3', unpack(SETTINGS, 7, 20))
  if redis.call('HEXISTS', g, 'spread') == 0 then redis.call('HDEL', g, 'keep', 'slot') end
end
