-- n jobs of a group are done, at least one; with none left it is soon forgotten. Counting in the
-- server is cheaper than reading, parsing and storing both counts.
local function count_done(g, n)
  local left, done = redis.pcall('HINCRBY', g, 'left', -n), nil
  if type(left) ~= 'number' then -- a foreign value would stop all calls with its jobs
    if string.find(left.err, 'WRONGTYPE', 1, true) then redis.call('UNLINK', g) end
    left = redis.call('HSET', g, 'left', 0) and 0
  end
  if left > 0 then done = redis.pcall('HINCRBY', g, 'done', n) end
  local total, dead, keep
  if left <= 0 or done == n or type(done) ~= 'number' then
    local before
    total, dead, before, keep = unpack(redis.call('HMGET', g, 'total', 'dead', 'done', 'keep'))
    total, dead = tonumber(total) or 0, tonumber(dead) or 0
    if not before or done == n then -- an earlier version derived done from the other states
      before = total - left - n - dead
      if before ~= 0 then
        for _, ended in ipairs(redis.call('HMGET', g, 'cancelled', 'evicted', 'discarded',
          'expired')) do
          before = before - (tonumber(ended) or 0)
        end
      end
    end
    before = tonumber(before) or 0
    if left <= 0 then
      redis.call('HSET', g, 'done', before + n, 'finished', now)
    elseif before ~= 0 or done ~= n then
      redis.call('HSET', g, 'done', before + n)
    end
  end
  if left <= 0 and dead <= 0 then
    -- uses: expire_group
  end
  if managed then
    -- uses: tune
    tune(string.sub(g, #base + 4), owner[1] == ARGV[1])
  end
end
