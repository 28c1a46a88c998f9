-- Another stamp than ms, so that who ran the body before a failover cannot end it: one that no
-- cancellation of a group before has reached, and the next one will. cut: of the latest
local function other_stamp(ms, cut)
  if ms - 1 > cut then return ms - 1 end
  if ms > cut then redis.call('HSET', c, 'cut', ms) end
  return ms + 1
end
