-- uses: whole
-- n jobs of a group are done, at least one (text: the same number); with none left it is soon
-- forgotten. Counting in the server is cheaper than reading, parsing and storing both counts, and
-- numbers go as texts, which redis.call would take longer to write.
local finished_at
local function count_done(g, n, text)
  local left, done = redis.pcall('HINCRBY', g, 'left', '-' .. text), nil
  if type(left) ~= 'number' then -- a foreign value would stop all calls with its jobs
    if string.find(left.err, 'WRONGTYPE', 1, true) then redis.call('UNLINK', g) end
    left = redis.call('HSET', g, 'left', 0) and 0
  end
  if left > 0 then done = redis.pcall('HINCRBY', g, 'done', text) end
  -- The first ones: nothing else may have ended before
  local first = done == n and tonumber(redis.call('HGET', g, 'total')) ~= left + n
  local total, dead, keep, moved
  if left <= 0 or first or type(done) ~= 'number' then
    local before
    total, dead, before, keep, moved = unpack(redis.call('HMGET', g, 'total', 'dead', 'done',
      'keep', 'moved'))
    total, dead = tonumber(total) or 0, tonumber(dead) or 0
    if not before or first then -- an earlier version derived done from the other states
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
      finished_at = finished_at or string.format('%d', now)
      redis.call('HSET', g, 'done', string.format('%d', before + n), 'finished', finished_at)
    elseif before ~= 0 or done ~= n then
      redis.call('HSET', g, 'done', before + n)
    end
  end
  if left <= 0 and dead <= 0 then
    -- uses: expire_group
  end
  if managed then
    -- uses: tune
    tune(string.sub(g, #base + 4))
  end
end
