-- Counts the jobs of a run in their group's record
local total, left = (tonumber(known[1]) or 0) + n, (tonumber(known[2]) or 0) + n
local delayed = (tonumber(known[3]) or 0) + (delay > 0 and n or 0)
if delay > 0 or not tonumber(known[3]) then
  redis.call('HSET', g, 'total', total, 'left', left, 'delayed', delayed)
else
  redis.call('HSET', g, 'total', total, 'left', left)
end
if left <= n then -- it had no work left, and may be about to be forgotten
  if not known[1] then redis.call('HSETNX', g, 'created', now) end
  redis.call('PERSIST', g)
end
groups[group] = {total, left, delayed, known[4]}
