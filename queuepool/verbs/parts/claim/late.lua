-- Before the first write: the keys that the end of an expired job touches.
-- uses: special
late = redis.call('HLEN', base .. ':ex') > 0
if late then
  -- uses: ours
  for p = 0, 1 do redis.call('SCARD', base .. ':dn:' .. p) end
  for _, t in ipairs(active) do
    for i = 1, served[t] do ours('HLEN', base .. ':g:' .. lanes[t][i].group) end
  end
end
