-- Whether it is the body that was claimed; '': nobody knows that one
local function is_claimed(body, stamp)
  return stamp == '' or string.sub(body, 3, 13) == stamp
end
