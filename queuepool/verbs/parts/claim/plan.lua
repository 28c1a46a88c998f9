local quota, served, planned -- by tier: jobs and lanes at most; jobs in all
-- uses: claim/visit
local function plan(n) -- how many jobs of which lane; it only reads
  quota, served, planned = {}, {}, 0
  if rooms then
    for _, room in pairs(rooms) do room.taken = 0 end
  end
  if #active > 1 then
    -- uses: claim/quotas
    quota = quotas(n)
  end
  for _, t in ipairs(active) do
    served[t] = 0
    visit(t, quota[t] and math.min(n - planned, quota[t]) or n - planned, n)
  end
  for _, t in ipairs(active) do if planned < n then visit(t, n - planned, n) end end
end
