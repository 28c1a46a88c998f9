-- uses: wake, is_complete
-- The owner is to look at a batch if that is complete
local function make_due(batch)
  local f = redis.call('HMGET', base .. ':b:' .. batch, unpack(COUNTS))
  if f[1] ~= 'open' or not is_complete(f) then return end
  redis.call('ZADD', base .. ':bd', 0, batch)
  wake('f')
end
