-- Before the first write: the keys that the delay of a job touches.
-- uses: ours, probe_tenant, check_hashes
redis.call('ZCARD', base .. ':dl')
redis.call('ZCARD', base .. ':du')
check_hashes('ua', 'lm', 'ga')
for _, t in ipairs(active) do
  for i = 1, served[t] do
    ours('HLEN', base .. ':g:' .. lanes[t][i].group)
    ours('SCARD', base .. ':dg:' .. lanes[t][i].group)
    probe_tenant(lanes[t][i].group)
  end
end
