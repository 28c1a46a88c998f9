-- uses: lane_key, give_seat
-- Ids to the back of a lane; or to its front, the last of them first. A lane that was empty gets
-- a seat. lane, next_turn: as for give_seat
local function push(lane, ids, front, next_turn)
  local size = front and redis.call('LPUSH', lane_key(lane), unpack(ids))
    or redis.call('RPUSH', lane_key(lane), unpack(ids))
  if size == #ids then give_seat(lane, next_turn) end
end
