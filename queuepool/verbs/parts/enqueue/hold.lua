-- The group is held, and may have had no work left: its jobs count apart.
redis.call('HSET', base .. ':mg', group, 0)
if delay <= 0 then
  -- uses: add
  add(g, 'w' .. tier, n)
  add(c, 'held', n)
end
