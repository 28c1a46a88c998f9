-- Each lane that it visits has jobs, but for few: no more seats are read than it may take jobs.
local own, before = seats[lane], planned
local last = math.min(lane.length, visited[lane] + take)
if #own < last then
  local page = redis.call('LRANGE', lane.ring, #own, last - 1)
  for _, seat in ipairs(page) do own[#own + 1] = seat end
  if rooms then seats.learn(lane, page) end
end
visit(lane, take, n)
take, planned = planned - before, before
