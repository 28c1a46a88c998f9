-- At the end of a round that repairs, when ready jobs are miscounted: those in the lanes of each
-- tier, as far as they have seats. missing: ready jobs not counted
local stand, missing = standing, #hollow - law + gap - missing_there
if repair and page[1] == '0' and missing ~= 0 then
  local left = 10000
  for key, lane in pairs(seated) do
    local t, size = tonumber(lane.tier), ours('LLEN', key) or 0
    local said = apart[lane.group] == nil and lane.since -- of more groups than are recounted
      and ours('HGET', base .. ':g:' .. lane.group, 'c' .. lane.tier)
    if said then t, size = tonumber(lane.ring), 0 end
    if apart[lane.group] or is_shut(lane.group) then said, size = 0, 0 end
    stand[t] = stand[t] + whole(said) + size
    if size > 0 and size <= math.min(left, 1000) then
      left = left - size
      for _, id in ipairs(redis.call('LRANGE', key, 0, -1)) do
        if redis.call('HEXISTS', j, id) == 0 then stand[t] = stand[t] - 1 end -- a mark
      end
    end
  end
  for _, job in ipairs(lost) do
    local t = tonumber(job.lane.tier)
    if not apart[job.lane.group] and not is_shut(job.lane.group) then stand[t] = stand[t] + 1 end
  end
end
