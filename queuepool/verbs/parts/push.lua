-- uses: lane_key, give_seat
-- Ids to the back of a lane. A previously empty lane gets a seat.
local function push(lane, ids)
  if redis.call('RPUSH', lane_key(lane), unpack(ids)) == #ids then give_seat(lane) end
end
