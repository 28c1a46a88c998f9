-- The tier whose turn it is, and the group; nil when the gate is empty.
local function next_seat()
  for _ = 1, 12 do
    local tier = string.sub('010201301200', cursor % 12 + 1, cursor % 12 + 1)
    cursor = cursor + 1
    local group = redis.call('LPOP', seats[tonumber(tier)])
    if group then return tier, group end
  end
end
