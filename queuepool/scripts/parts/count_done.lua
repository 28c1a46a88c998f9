local function count_done(g, n) -- n jobs of a group are done; with none left it is soon forgotten
  local left, done, total, dead = unpack(totals[g], 1, 4)
  if not done then -- none yet; or a version before took done for what the other states leave
    done = (total or 0) - (left or 0)
    if done ~= 0 then
      for _, ended in ipairs(redis.call('HMGET', g, 'dead', 'cancelled', 'evicted', 'discarded')) do done = done - (ended or 0) end
    end
  end
  left, done = (left or 0) - n, done + n
  totals[g] = {left, done, total, dead}
  if left > 0 then
    redis.call('HSET', g, 'left', left, 'done', done)
  else
    redis.call('HSET', g, 'left', left, 'done', done, 'finished', now)
    if tonumber(dead or 0) <= 0 then redis.call('PEXPIRE', g, math.min(86400000, 60000 * (total or 1))) end
  end
end
