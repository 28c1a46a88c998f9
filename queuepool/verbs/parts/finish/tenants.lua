-- Once for each tenant: its totals, and the room that its jobs left
-- uses: tally, leave, tenant_of
local ends = {}
for g, known in pairs(totals.tenants) do
  local tenant, ended = tenant_of(known[1]) or '', known[2] - (tonumber(totals[g][1]) or 0)
  ends[tenant] = {known[1], (ends[tenant] and ends[tenant][2] or 0) + ended}
end
for _, group in pairs(ends) do
  if group[2] > 0 then
    tally(group[1], 'done', group[2])
    leave(group[1], group[2], owner[1] == ARGV[1])
  end
end
