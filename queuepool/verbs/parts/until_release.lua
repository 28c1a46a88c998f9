-- Jobs of a held task are delayed by ten years more; no other delay is longer than 366 days.
-- uses: clock
local until_release = 315360000000
local function waits_for_release(due) return due > now + until_release / 2 end
