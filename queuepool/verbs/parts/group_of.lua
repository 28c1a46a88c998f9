local function group_of(body)
  return string.sub(body, 19, 18 + (tonumber(string.sub(body, 17, 18), 16) or 0))
end
