-- uses: claim/weigh
local function plan_fewer() -- until their bodies fit; whether they are fewer. One always fits
  local bytes, fewer = 0, false
  repeat
    if bytes > 0 then
      plan(math.max(1, math.floor(planned * math.min(0.75, budget / bytes))))
      fewer, lanes, served = true, seats, visited
      if seats.tenants then
        -- uses: claim/line_up
      end
    end
    bytes = 0
    for _, t in ipairs(active) do
      for i = 1, served[t] do bytes = bytes + weigh(lanes[t][i], lanes[t][i].take) end
    end
  until bytes <= budget or planned <= 1
  return fewer
end
