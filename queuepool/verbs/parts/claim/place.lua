-- The group has changed its tier: a seat from before does not count; the next ones are there.
lane.place = lane.room.place
if (tonumber(string.sub(here[i], 2, 12), 16) or 0) < lane.room.moved then lane.size = 0 end
if lane.room.moved > now then lane.since = string.format('%011x', lane.room.moved) end
