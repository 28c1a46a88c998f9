-- At the end of a round, of up to 200 held groups: entries without such a group, and those whose
-- jobs are miscounted, in lanes of up to 1,000 ids.
local names, held, sum, apart, weights = {}, whole(redis.call('HGET', c, 'held')), 0, {}, {}
local recounted = page[1] == '0' and redis.call('HLEN', mg) <= 200
if recounted then names = redis.call('HKEYS', mg) end
for _, group in ipairs(recounted and unheld or {}) do names[#names + 1] = group end
for _, group in ipairs(names) do
  local g = base .. ':g:' .. group
  local fields = ours('HMGET', g, 'hold', 'left', 'w0', 'w1', 'w2', 'w3') or {}
  apart[group] = fields[1] and whole(fields[2]) > 0
  if not apart[group] then strays[#strays + 1] = {mg, group} end
  for t = 0, apart[group] and 3 or -1 do
    local key, was = lane_key({tier = t, group = group}), whole(fields[3 + t])
    local size, jobs = ours('LLEN', key) or 0, was
    if size <= 1000 then
      jobs = 0
      for _, id in ipairs(size > 0 and redis.call('LRANGE', key, 0, -1) or {}) do
        jobs = jobs + redis.call('HEXISTS', j, id)
      end
      for _, job in ipairs(lost) do jobs = jobs + (lane_key(job.lane) == key and 1 or 0) end
    end
    sum = sum + jobs
    if jobs ~= was then weights[#weights + 1] = {g, 'w' .. t, jobs} end
  end
end
recounted = recounted and (#weights > 0 or sum ~= held)
if recounted then miscounted = miscounted + 1 end
