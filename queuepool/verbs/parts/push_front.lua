-- uses: lane_key, give_seat
-- An id to the front of a lane. A lane that was empty gets a seat. lane, next_turn: as for
-- give_seat
local function push_front(lane, id, next_turn)
  if redis.call('LPUSH', lane_key(lane), id) == 1 then give_seat(lane, next_turn) end
end
