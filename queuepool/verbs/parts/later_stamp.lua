-- A later stamp than ms, so that a death under it is known to be newer: one that the next
-- cancellation of a group will reach. cut: of the latest. Of a clock that was an hour ahead or more
-- it is that of a job that is enqueued now: others are not to follow it.
local function later_stamp(ms, cut)
  local fresh = math.max(now, cut + 1)
  if ms > fresh + 3600000 then return fresh end
  if ms >= now and ms > cut then redis.call('HSET', c, 'cut', ms) end
  return ms + 1
end
