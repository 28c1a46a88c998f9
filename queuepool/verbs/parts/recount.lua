if unsound then
  redis.call('UNLINK', c)
  if #sound > 0 then redis.call('HSET', c, unpack(sound)) end
end
if unheard then redis.call('HSET', c, 'rare', 1) end
if untold then redis.call('HSET', c, 'tried', 1) end
if wrongly then redis.call('HSET', c, 'bytes', bytes, 'dead_bytes', dead_bytes) end
for _, note in ipairs(strays) do redis.call('HDEL', note[1], note[2]) end
