-- Takes what is to be cancelled from the front of a lane, of the group by its name. Returns how
-- many jobs; how many ids left the lane; whether there may be more
local function clear(list)
  local ids = redis.call('LRANGE', list, 0, 199)
  local bodies, n, before = #ids > 0 and redis.call('HMGET', j, unpack(ids)) or {}, 0, #gone
  local last = before
  for k, id in ipairs(ids) do
    local body = bodies[k]
    if body then
      if stamp_of(body) > cut then break end
      last = last + 1
      gone[last], size = id, size + #body
    else
      redis.call('HDEL', base .. ':cx', id)
    end
    n = k
  end
  local jobs = last - before
  local more = n == 200
  -- The last id stays as a mark: a seat in the ring has a lane
  if n > 0 and n == redis.call('LLEN', list) then
    n = n - 1
    redis.call('HSET', base .. ':cx', ids[n + 1], 1)
  end
  if n > 0 then redis.call('LPOP', list, n) end
  return jobs, n, more
end
