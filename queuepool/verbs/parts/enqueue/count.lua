-- Counts the jobs of a run in their group's record
local total, left = (tonumber(known[1]) or 0) + n, (tonumber(known[2]) or 0) + n
local delayed = (tonumber(known[3]) or 0) + (delay > 0 and n or 0)
if not known[1] then
  redis.call('HSET', g, 'total', total, 'left', left, 'delayed', delayed, 'created', now)
elseif delay > 0 or not tonumber(known[3]) then
  redis.call('HSET', g, 'total', total, 'left', left, 'delayed', delayed)
else
  redis.call('HSET', g, 'total', total, 'left', left)
end
if left <= n then redis.call('PERSIST', g) end -- it had no work left, and may be forgotten soon
groups[group] = {total, left, delayed, known[4]}
