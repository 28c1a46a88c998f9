-- uses: add, whole
local function settle(g, n) -- n jobs of a group are over; with none left it is soon forgotten
  if add(g, 'left', -n) <= 0 then
    redis.call('HSET', g, 'finished', now)
    local total, dead = unpack(redis.call('HMGET', g, 'total', 'dead'))
    if whole(dead) <= 0 then -- kept for a minute a job, at most a day
      local ttl_ms = math.max(60000, math.min(86400000, math.floor(60000 * whole(total))))
      redis.call('PEXPIRE', g, ttl_ms)
    end
  end
end
