-- Whether a body is of the group of the call; makes no strings, unlike group_of
local group_head = string.format('%02x', #group) .. group
local function is_of_group(body) return string.find(body, group_head, 17, true) == 17 end
