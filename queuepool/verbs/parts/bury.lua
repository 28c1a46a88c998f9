-- uses: clock, add, let_go, managed, tune, tally, tell
local function bury(id, g, size, problem) -- a job that has left its place is dead
  let_go({id}, 1, 1, true)
  tell(id, 'x', problem)
  redis.call('ZADD', base .. ':dead', now, id)
  redis.call('HSET', base .. ':er', id, problem)
  add(c, 'died', 1)
  add(c, 'dead_bytes', size)
  add(g, 'dead', 1)
  tally(string.sub(g, #base + 4), 'died', 1)
  if add(g, 'left', -1) <= 0 then
    redis.call('HSET', g, 'finished', now)
  end
  if managed then tune(string.sub(g, #base + 4)) end
end
