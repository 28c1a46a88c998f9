-- uses: urgency
-- A delayed job is due at another time; in `du`, too, which tells whether its tier is 0 or 1
local function move_due(id, due)
  local place = redis.call('ZSCORE', base .. ':du', id)
  redis.call('ZADD', base .. ':dl', due, id)
  if place then
    local tier = tonumber(place) < 0 and '0' or '1'
    redis.call('ZADD', base .. ':du', urgency(tier, due), id)
  end
end
