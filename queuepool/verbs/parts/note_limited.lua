-- Jobs come to a lane, ids. If any of them names limits, `ll` has the lane: claims look for limits
-- nowhere else.
local limits = redis.call('HLEN', base .. ':lm') > 0
if limits then redis.call('SCARD', base .. ':ll') end -- before the first write
local function note_limited(lane, ids)
  for _, said in ipairs(limits and redis.call('HMGET', base .. ':lm', unpack(ids)) or {}) do
    if said then return redis.call('SADD', base .. ':ll', lane.tier .. ':' .. lane.group) end
  end
end
