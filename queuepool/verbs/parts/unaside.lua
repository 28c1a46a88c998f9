local function unaside(id) -- a job that left dl no longer waits for a task
  if redis.call('HDEL', base .. ':ua', id) == 1 then redis.call('HDEL', base .. ':er', id) end
end
