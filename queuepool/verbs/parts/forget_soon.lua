-- A finished group is kept for a minute a job, at most a day
local function forget_soon(g, total)
  -- uses: expire_group
end
