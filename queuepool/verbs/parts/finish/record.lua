-- Results, and the ends in their groups.
local finished, freed, after = 0, 0, first
i = groups
while i <= words do
  local g, m = base .. ':g:' .. ARGV[i], tonumber(ARGV[i + 3])
  local n = sizes[i] or tonumber(ARGV[i + 2])
  freed = freed + (sums[i] or ARGV[i + 1])
  i = i + 4
  for k = i, i + 3 * m - 1, 3 do
    if not kept[ARGV[k]] and redis.call('HEXISTS', j, ARGV[k]) == 1 then
      redis.call('SET', base .. ':r:' .. ARGV[k], ARGV[k + 2], 'PX', ARGV[k + 1])
    end
  end
  i = i + 3 * m
  local d = n > 0 and redis.call('HDEL', j, unpack(gone, after, after + n - 1)) or 0
  after, finished = after + n, finished + d
  if d > 0 then count_done(g, d) end
end
