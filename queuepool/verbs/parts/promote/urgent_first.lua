-- More jobs are due than one call promotes: those of tier 0 and then 1 come first. Some
-- entries of `du` may be of jobs that are gone: an earlier version left those that were cancelled.
local dues = #urgent > 0 and redis.call('ZMSCORE', dl, unpack(urgent)) or {}
local first, listed = {}, {}
for k, id in ipairs(urgent) do
  if dues[k] and tonumber(dues[k]) <= now then
    first[#first + 1], listed[id] = id, true
  end
end
for _, id in ipairs(ids) do
  if #first < 100 and not listed[id] then first[#first + 1] = id end
end
ids = first
