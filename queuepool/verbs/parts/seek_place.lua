-- uses: place_of, ours
local function seek_place(lane) -- notes where a seat of a managed group's lane goes
  local f = ours('HMGET', base .. ':g:' .. lane.group, 'tier', 'moved') or {}
  lane.ring, lane.since = place_of(f, lane.tier)
end
