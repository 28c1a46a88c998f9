-- Whether it is the body that was claimed; '': unknown
local function is_claimed(body, stamp)
  return stamp == '' or string.sub(body, 3, 13) == stamp
end
