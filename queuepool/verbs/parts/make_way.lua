if foreign then -- what is not ours in a key named after a group makes way: it would stop all calls with such a job
  for _, found in ipairs(foreign) do
    if not string.find(found.err, 'WRONGTYPE', 1, true) then error({err = found.err}) end
  end
  for _, found in ipairs(foreign) do redis.call('UNLINK', found.key) end
end
