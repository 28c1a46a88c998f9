-- uses: lane_key, give_seat, give_next_turn, managed, seek_place, note_limited
-- An id to the front of a lane. A lane that was empty gets a seat: next_turn: where that is
local function push_front(lane, id, next_turn)
  note_limited(lane, {id})
  if redis.call('LPUSH', lane_key(lane), id) > 1 then return end
  if managed then seek_place(lane) end
  if next_turn then give_next_turn(lane) else give_seat(lane) end
end
