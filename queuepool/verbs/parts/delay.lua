-- uses: add
local function delay(id, group, due) -- a job that has left its place is delayed
  redis.call('ZADD', base .. ':dl', due, id)
  redis.call('SADD', base .. ':dg:' .. group, id)
  add(base .. ':g:' .. group, 'delayed', 1)
end
