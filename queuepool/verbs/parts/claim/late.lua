-- Before the first write: the keys that the end of an expired job touches.
-- uses: special
-- uses: claim/may_be_limited
late, limited = redis.call('HLEN', base .. ':ex') > 0, may_be_limited()
if late or limited then
  -- uses: ours, probe_tenant, tell
  for p = 0, 1 do redis.call('SCARD', base .. ':dn:' .. p) end
  if late and traces then redis.call('HLEN', base .. ':er') end
  for _, t in ipairs(active) do
    for i = 1, served[t] do
      ours('HLEN', base .. ':g:' .. lanes[t][i].group)
      probe_tenant(lanes[t][i].group)
    end
  end
end
if limited then
  -- uses: claim/probe_gates
end
