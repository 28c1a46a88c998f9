-- uses: count_apart, add
local function count_ready(tier, group, n) -- n more jobs stand in a lane
  if not count_apart(tier, group, n) then add(c, 'r' .. tier, n) end
end
