-- The lanes in the order of their turns: those of a tenant, and then what stays of its own turn,
-- which takes no jobs. size: its seats that were not visited
lanes, served = {}, {}
for _, t in ipairs(active) do
  local line = {}
  for i = 1, visited[t] do
    local lane = seats[t][i]
    for k = 1, lane.length and visited[lane] or 0 do
      line[#line + 1] = seats[lane][k]
      line[#line].of, line[#line].place = lane, lane.ring
    end
    if lane.length then
      -- uses: claim/jobs_left
      rings[lane.ring] = lane.ring
      lane.taken, lane.take, lane.size = lane.take, 0, lane.length - visited[lane]
    end
    line[#line + 1] = lane
  end
  lanes[t], served[t] = line, #line
end
