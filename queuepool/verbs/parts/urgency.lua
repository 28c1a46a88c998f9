-- The score in `du` of a job of tier 0 or 1 that is due then: all of tier 0 come before the others
local function urgency(tier, due) return tier == '0' and due - 1e14 or due end
