local function lane_key(lane) return base .. ':q:' .. lane.tier .. ':' .. lane.group end
