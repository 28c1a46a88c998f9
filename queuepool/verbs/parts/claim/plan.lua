-- By ring: jobs at most, and seats that had a turn; jobs in all. By tier: the lanes in the order of
-- their turns, and how many these are.
local quota, visited, planned, lanes, served
-- uses: claim/visit
local serve = visit
if ahead then
  -- uses: claim/defer
end
local function plan(n) -- how many jobs of which lane; it only reads
  quota, visited, planned = {}, {}, 0
  if rooms then
    for _, room in pairs(rooms) do room.taken = 0 end
  end
  if #active > 1 then
    -- uses: claim/quotas
    quota = quotas(n)
  end
  for _, t in ipairs(active) do
    visited[t] = 0
    serve(t, quota[t] and math.min(n - planned, quota[t]) or n - planned, n)
  end
  for _, t in ipairs(active) do if planned < n then serve(t, n - planned, n) end end
  lanes, served = seats, visited
  if tenants then
    -- uses: claim/line_up
  end
end
