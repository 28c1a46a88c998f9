-- uses: lane_key, give_seat
-- Ids to the back of a lane. A lane that was empty gets a seat.
local function push(lane, ids)
  if redis.call('RPUSH', lane_key(lane), unpack(ids)) == #ids then give_seat(lane) end
end
