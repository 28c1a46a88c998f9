-- A value that is not a number, or too large, is replaced, so that it stops no script
local function add(hash, field, n)
  local sum = redis.pcall('HINCRBY', hash, field, n + 0) -- + 0: Redis 7.0 rejects -0
  if type(sum) == 'number' then return sum end
  return redis.call('HSET', hash, field, math.max(0, n)) and math.max(0, n)
end
