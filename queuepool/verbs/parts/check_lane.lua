-- uses: lane_key, ours
-- Before the first write: a lane of another type makes way, a ring of another type stops the script
local function check_lane(lane)
  ours('LLEN', lane_key(lane))
  redis.call('LLEN', base .. ':ring:' .. lane.tier)
end
