-- What is not ours in a key named after a group makes way: it would stop all calls with such a job.
if next(foreign) then
  for _, reply in pairs(foreign) do
    if not string.find(reply.err, 'WRONGTYPE', 1, true) then error(reply) end
  end
  for found in pairs(foreign) do redis.call('UNLINK', found) end
end
