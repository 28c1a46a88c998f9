-- Once for each tenant: its totals, and the room that its jobs left
-- uses: tally, leave, tenant_of
local ends = {}
for group, ended in pairs(tenants) do
  local tenant = tenant_of(group) or ''
  ends[tenant] = {group, (ends[tenant] and ends[tenant][2] or 0) + ended}
end
for _, group in pairs(ends) do
  if group[2] > 0 then
    tally(group[1], 'done', group[2])
    leave(group[1], group[2])
  end
end
