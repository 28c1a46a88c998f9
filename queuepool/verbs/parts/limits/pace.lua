local function pace_of(d) -- of an adaptive limit: the tokens in d.per that it has come to
  local n = tonumber(known.pace)
  return n and n >= d.least and n <= d.most and n or math.max(d.least, math.min(d.rate, d.most))
end
