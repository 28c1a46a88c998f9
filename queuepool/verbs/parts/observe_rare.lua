-- What few partitions have: jobs set aside and their tasks, held tasks, what batches are to hear.
aside = redis.call('HLEN', base .. ':ua')
local listed, page = {}, redis.call('HSCAN', base .. ':ua', 0, 'COUNT', 20)[2]
for i = 2, math.min(#page, 200), 2 do
  if not listed[page[i]] then tasks[#tasks + 1] = page[i] end
  listed[page[i]] = true
end
untold = redis.pcall('XLEN', base .. ':fo') -- of any type, as producers may write it
if type(untold) ~= 'number' then untold = 0 end
local batch = redis.pcall('ZRANGE', base .. ':bd', 0, 0, 'WITHSCORES')
if batch[2] and tonumber(batch[2]) <= now then untold = untold + 1 end
local recorded = redis.call('HGETALL', base .. ':ht')
for i = 1, math.min(#recorded, 200), 2 do
  local since = string.match(recorded[i + 1], '^(%d+)%[')
  if since then held[#held + 1] = recorded[i]; held[#held + 1] = string.sub(since, 1, 32) end
end
