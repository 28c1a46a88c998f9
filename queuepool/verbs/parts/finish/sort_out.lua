-- Each id once, and only those that were in flight here or have no body.
local met, k = {}, 4
gone, first, last, i, sizes, sums, left, kept = {}, 1, 0, groups, {}, {}, {}, {}
while i <= words do
  sizes[i], sums[i] = 0, 0 -- the caller's sum is only valid for all of them
  for _ = 1, ARGV[i + 2] do
    local id = ARGV[k]
    if not met[id] then -- after a failover one owner may have claimed a job twice
      met[id] = true
      if not held[k - 3] and redis.call('HEXISTS', j, id) == 1 then
        left[#left + 1] = id
        kept[id] = true
      else
        last = last + 1
        gone[last], sizes[i], sums[i] = id, sizes[i] + 1, sums[i] + redis.call('HSTRLEN', j, id)
      end
    end
    k = k + 1
  end
  i = i + 4 + 3 * ARGV[i + 3]
end
