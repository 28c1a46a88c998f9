-- uses: lane_key, ours, probe_tenant
-- Before the first write: a lane of the wrong type is deleted, such a ring stops the script
local function check_lane(lane)
  ours('LLEN', lane_key(lane))
  redis.call('LLEN', base .. ':ring:' .. lane.tier)
  probe_tenant(lane.group)
end
