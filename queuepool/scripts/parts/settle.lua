local function settle(g, n) -- n jobs of a group are over; with none left it is soon forgotten
  if redis.call('HINCRBY', g, 'left', -n) <= 0 then
    redis.call('HSET', g, 'finished', now)
    local total, dead = unpack(redis.call('HMGET', g, 'total', 'dead'))
    if tonumber(dead or 0) <= 0 then -- kept for a minute a job, at most a day
      redis.call('PEXPIRE', g, math.min(86400000, 60000 * (total or 1)))
    end
  end
end
