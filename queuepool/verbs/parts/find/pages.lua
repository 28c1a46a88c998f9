-- Where in a sorted set a page begins, and the last rank that matches; nothing if none does
local function bounds(set)
  local low = since > 0 and redis.call('ZCOUNT', set, '-inf', '(' .. ARGV[7]) or 0
  local high = till > 0 and redis.call('ZCOUNT', set, '-inf', ARGV[8]) or redis.call('ZCARD', set)
  high = high - 1
  local first, last, step = low, high, 1
  if newest then first, last, step = high, low, -1 end
  local score, id = string.match(cursor, '^(%-?[%d.e+]+):(.*)$')
  if score then
    -- It may be gone, such as a replayed job: then from the same score on
    local there = redis.call('ZSCORE', set, id) == score and redis.call('ZRANK', set, id)
    if there then
      first = there + step
    elseif newest then
      first = math.min(first, redis.call('ZCOUNT', set, '-inf', score) - 1)
    else
      first = math.max(first, redis.call('ZCOUNT', set, '-inf', '(' .. score))
    end
  end
  if low <= high and first >= low and first <= high then return first, last end
end
local function ranks(set, rank, last, n)
  if not newest then
    return redis.call('ZRANGE', set, rank, math.min(last, rank + n - 1), 'WITHSCORES')
  end
  local back = redis.call('ZCARD', set) - 1 -- ZREVRANGE counts from the other end
  local final = back - math.max(last, rank - n + 1)
  return redis.call('ZREVRANGE', set, back - rank, final, 'WITHSCORES')
end
-- Ids in the lane of a tier, or in flight under an epoch, each with its score
local function members(of, list, from, n)
  if of ~= 'waiting' then
    return redis.call('ZRANGE', base .. ':fl:' .. list, from, from + n - 1, 'WITHSCORES')
  end
  local found = {}
  local lane = base .. ':q:' .. list .. ':' .. group
  for _, id in ipairs(redis.call('LRANGE', lane, from, from + n - 1)) do
    found[#found + 1], found[#found + 2] = id, '0'
  end
  return found
end
local function place_of(id)
  local at = redis.call('ZSCORE', base .. ':dl', id)
  if at then return 'delayed', at end
  at = redis.call('ZSCORE', base .. ':dead', id)
  if at then return 'dead', at end
  for _, e in ipairs(epochs) do
    at = redis.call('ZSCORE', base .. ':fl:' .. e, id)
    if at then return 'in-flight', at end
  end
  local said = redis.call('HGET', base .. ':lm', id)
  return said and string.sub(said, 1, 1) == 'p' and 'parked' or 'ready', '0'
end
