local function stamp_of(body) return tonumber(string.sub(body, 3, 13), 16) or 0 end
