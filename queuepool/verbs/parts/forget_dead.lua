-- uses: add, whole, forget_soon, let_go, tell
-- Delete a dead job; with the last one, its group, if finished, is soon forgotten.
-- size: of the body, 0 if there was none; as: its counter, evicted or discarded
local function forget_dead(id, g, size, as)
  tell(id, as == 'evicted' and 'v' or 'g')
  for _, k in ipairs({'j', 'at', 'cr', 'er'}) do redis.call('HDEL', base .. ':' .. k, id) end
  let_go({id}, 1, 1)
  add(c, as, 1)
  if size == 0 then return end
  add(c, 'dead_bytes', 0 - size) -- not -size: Redis 7.0 rejects -0
  add(c, 'bytes', 0 - size)
  add(g, as, 1)
  if add(g, 'dead', -1) <= 0 and whole(redis.call('HGET', g, 'left')) <= 0 then
    forget_soon(g, whole(redis.call('HGET', g, 'total')))
  end
end
