-- uses: clock, whole
-- Who leads, in which epoch, until when, and what is set manually
local leader, manual = KEYS[1] .. ':leader', KEYS[1] .. ':manual'
local nonce, epoch, expires, address =
  unpack(redis.call('HMGET', leader, 'nonce', 'epoch', 'expires', 'address'))
local left = whole(expires) - now
epoch = string.format('%.0f', math.max(0, whole(epoch)))
local byhand = redis.call('HGETALL', manual)
local led = {0, epoch, now, math.max(0, left), left > 0 and address or '', byhand}
