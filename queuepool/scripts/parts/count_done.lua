local function count_done(g, n) -- n jobs of a group are done; with none left it is soon forgotten
  local counts = totals[g]
  local left, done, total = (counts[1] or 0) - n, counts[2], counts[3]
  if not done then -- none yet; or a version before took done for what the other states leave
    done = (total or 0) - left - n
    if done ~= 0 then
      for _, ended in ipairs(redis.call('HMGET', g, 'dead', 'cancelled', 'evicted', 'discarded')) do done = done - (ended or 0) end
    end
  end
  done = done + n
  counts[1], counts[2] = left, done
  if left > 0 then
    redis.call('HSET', g, 'left', left, 'done', done)
  else
    redis.call('HSET', g, 'left', left, 'done', done, 'finished', now)
    if not counts[4] or tonumber(counts[4]) <= 0 then redis.call('PEXPIRE', g, math.min(86400000, 60000 * (total or 1))) end
  end
end
