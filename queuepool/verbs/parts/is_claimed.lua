local function is_claimed(body, stamp) -- whether it is the body that was claimed; '': nobody knows that one
  return stamp == '' or string.sub(body, 3, 13) == stamp
end
