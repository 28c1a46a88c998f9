local function weigh(lane, n) -- bytes of the first n jobs of a lane, each checked once
  local sums = lane.sums or {[0] = 0}
  if #sums < n then
    for k, id in ipairs(redis.call('LRANGE', lane.key, #sums, n - 1)) do
      sums[#sums + 1] = sums[#sums] + redis.call('HSTRLEN', base .. ':j', id)
    end
    lane.sums = sums
  end
  return sums[math.min(n, #sums)]
end
