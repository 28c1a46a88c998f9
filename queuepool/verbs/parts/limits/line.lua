-- Who else stands in a line, first come first served, and whether the asker is first. Those that
-- did not come back within 3 s of when they were told to have left it.
local function line(queue, size)
  if size == 0 then return 0, true end
  local others = size - (redis.call('ZSCORE', queue, asker) and 1 or 0)
  while others > 0 do
    local head = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')
    if head[1] == asker then return others, true end
    local permits, due = string.match(redis.call('HGET', lc, head[1]) or '', '^(%d+):(%d+):')
    if tonumber(head[2]) <= now and now <= whole(due) + 3000 then return others, false end
    redis.call('ZREM', queue, head[1])
    if permits == '0' then redis.call('HDEL', lc, head[1]) end
    others = others - 1
  end
  return 0, true
end
