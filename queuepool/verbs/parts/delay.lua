-- uses: add, urgency
local function delay(id, tier, group, due) -- a job that has left its place is delayed
  redis.call('ZADD', base .. ':dl', due, id)
  if tier < '2' then redis.call('ZADD', base .. ':du', urgency(tier, due), id) end
  redis.call('SADD', base .. ':dg:' .. group, id)
  add(base .. ':g:' .. group, 'delayed', 1)
end
