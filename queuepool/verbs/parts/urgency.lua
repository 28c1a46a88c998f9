-- The score in `du` of a job of tier 0 or 1 that is due then: all of tier 0 come before the others.
-- 2^43 leaves thousandths of a ms, in which the order of jobs that were set aside lies.
local function urgency(tier, due) return tier == '0' and due - 8796093022208 or due end
