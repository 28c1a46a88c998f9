local function pace_of(d) -- tokens in d.per: its rate, or what an adaptive one has come to
  if d.most == 0 then return d.rate end
  local n = tonumber(known.pace)
  return n and n >= d.least and n <= d.most and n or math.max(d.least, math.min(d.rate, d.most))
end
