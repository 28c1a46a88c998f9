#!lua flags=no-writes
-- vacancy: tell whether a partition has work, and no owner that does it.
-- ROLES   consumer ops
-- KEYS[1] base; derived: o c dl rec fl:<epoch> fo bd ht
-- Returns {work}, or {work, epoch} with that of an owner that has not released it. work:
--         2 if jobs could be claimed, are due or are to be recovered, tasks were released, or
--         batches are to be told or looked at; 1 if some jobs only wait for their limits; 0 if
--         there is nothing to do, or the owner's lease runs. O(1).
local base = KEYS[1]
-- uses: clock, whole
local nonce, epoch, expires = unpack(redis.call('HMGET', base .. ':o', 'nonce', 'epoch', 'expires'))
local owned = nonce and nonce ~= ''
local function work()
  if owned and whole(expires) > now then return 0 end
  local counts = redis.call('HMGET', base .. ':c', 'r0', 'r1', 'r2', 'r3', 'parked', 'hold')
  if redis.call('LLEN', base .. ':rec') > 0 then return 2 end
  if epoch and redis.call('ZCARD', base .. ':fl:' .. epoch) > 0 then return 2 end
  if redis.call('XLEN', base .. ':fo') > 0 then return 2 end
  local batch = redis.call('ZRANGE', base .. ':bd', 0, 0, 'WITHSCORES')
  if batch[2] and tonumber(batch[2]) <= now then return 2 end
  if counts[6] then return 0 end
  for t = 1, 4 do
    if whole(counts[t]) > 0 then return 2 end
  end
  local first = redis.call('ZRANGE', base .. ':dl', 0, 0, 'WITHSCORES')
  if first[2] and tonumber(first[2]) <= now then return 2 end
  local recorded = redis.call('HGETALL', base .. ':ht')
  for i = 2, #recorded, 2 do
    if recorded[i] == '0' or recorded[i] == '1' then return 2 end
  end
  return whole(counts[5]) > 0 and 1 or 0
end
if not owned then return {work()} end
return {work(), string.format('%.0f', whole(epoch))}
