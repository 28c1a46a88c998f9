-- uses: lane_key, give_seat, managed, seek_place, note_limited
-- Ids to the back of a lane. A previously empty lane gets a seat.
local function push(lane, ids)
  note_limited(lane, ids)
  if redis.call('RPUSH', lane_key(lane), unpack(ids)) > #ids then return end
  if managed then seek_place(lane) end
  give_seat(lane)
end
