-- Results, and the ends in their groups. What was in flight here is done, also without a body.
local finished, freed, after = 0, 0, first
i = groups
while i <= words do
  local last_result = i + 3
  if ARGV[i + 3] ~= '0' then last_result = i + 3 + 3 * ARGV[i + 3] end
  local n = sizes and sizes[i] or ARGV[i + 2] + 0
  freed = freed + (sums and sums[i] or ARGV[i + 1])
  for k = i + 4, last_result, 3 do
    if not (kept and kept[ARGV[k]]) and redis.call('HEXISTS', j, ARGV[k]) == 1 then
      redis.call('SET', base .. ':r:' .. ARGV[k], ARGV[k + 2], 'PX', ARGV[k + 1])
    end
  end
  local d = n
  local text = ARGV[i + 2]
  if sizes and n > 0 then
    d = redis.call('HDEL', j, unpack(gone, after, after + n - 1))
    text = string.format('%d', d)
  end
  after, finished = after + n, finished + d
  if d > 0 then count_done(base .. ':g:' .. ARGV[i], d, text) end
  if tenants and tenants[ARGV[i]] then tenants[ARGV[i]] = tenants[ARGV[i]] + d end
  i = last_result + 1
end
if not sizes then redis.call('HDEL', j, unpack(gone, first, last)) end
if tenants then
  -- uses: finish/tenants
end
