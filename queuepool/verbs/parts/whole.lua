local function whole(text) -- a stored number; 0 for what is none, or none that can be counted with
  local n = tonumber(text)
  return n and n % 1 == 0 and n > -9e15 and n < 9e15 and n or 0
end
