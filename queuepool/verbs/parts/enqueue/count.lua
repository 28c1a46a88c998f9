-- Counts the jobs of a run in their group's record. Numbers go as texts: redis.call would take
-- twice as long to write each as string.format does.
local total, left = (tonumber(known[1]) or 0) + n, (tonumber(known[2]) or 0) + n
local delayed = (tonumber(known[3]) or 0) + (delay > 0 and n or 0)
local text = string.format('%d', total)
local rest = left == total and text or string.format('%d', left)
if known[1] and delay <= 0 and tonumber(known[3]) then
  redis.call('HSET', g, 'total', text, 'left', rest)
else
  local later = delayed == 0 and '0' or string.format('%d', delayed)
  if known[1] then
    redis.call('HSET', g, 'total', text, 'left', rest, 'delayed', later)
  else
    created = created or string.format('%d', now)
    redis.call('HSET', g, 'total', text, 'left', rest, 'delayed', later, 'created', created)
  end
end
if left <= n then redis.call('PERSIST', g) end -- it had no work left, and may be forgotten soon
known[1], known[2], known[3] = total, left, delayed
