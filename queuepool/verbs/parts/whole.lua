local function whole(text) -- a stored number; 0 if invalid or unusable for counting
  local n = tonumber(text)
  return n and n % 1 == 0 and n > -9e15 and n < 9e15 and n or 0
end
