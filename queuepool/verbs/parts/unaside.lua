local function unaside(id) -- a job that left dl waits for no task any more
  if redis.call('HDEL', base .. ':ua', id) == 1 then redis.call('HDEL', base .. ':er', id) end
end
