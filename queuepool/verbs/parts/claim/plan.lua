-- uses: claim/visit
local serve = visit
if ahead then
  -- uses: claim/defer
end
local function plan(n) -- how many jobs of which lane; it only reads
  quota, visited, planned = {}, {}, 0
  if extra then
    for _, room in pairs(rooms or {}) do room.taken = 0 end
    for _, room in pairs(seats.bounds or {}) do room.taken = 0 end
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
end
