-- A finished group is kept for a minute per job, at most a day
local function forget_soon(g, total)
  -- uses: expire_group
end
