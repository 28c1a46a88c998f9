-- n jobs of a group are done; with none left it is soon forgotten. counts: left, done
local function count_done(g, counts, n)
  local left, done, total, dead = (tonumber(counts[1]) or 0) - n, counts[2], nil, nil
  if left <= 0 or not done then
    total, dead = unpack(redis.call('HMGET', g, 'total', 'dead'))
    total, dead = tonumber(total) or 0, tonumber(dead) or 0
  end
  if not done then -- none yet; or an earlier version derived done from the other states
    done = total - left - n - dead
    if done ~= 0 then
      for _, ended in ipairs(redis.call('HMGET', g, 'cancelled', 'evicted', 'discarded',
        'expired')) do
        done = done - (tonumber(ended) or 0)
      end
    end
  end
  done = (tonumber(done) or 0) + n
  counts[1], counts[2] = left, done
  if left > 0 then
    redis.call('HSET', g, 'left', left, 'done', done)
  else
    redis.call('HSET', g, 'left', left, 'done', done, 'finished', now)
    if dead <= 0 then
      -- uses: expire_group
    end
  end
  if managed then
    -- uses: tune, forget_soon
    tune(string.sub(g, #base + 4), owner[1] == ARGV[1])
    if left <= 0 and dead <= 0 then forget_soon(g, total) end
  end
end
