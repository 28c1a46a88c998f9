-- The totals of each group, before the first write; and SET takes a key of any type.
local groups, totals = 4 + ARGV[3], {} -- where groups begin in ARGV; totals: by key of the group
local i = groups
while i <= words do
  local g = base .. ':g:' .. ARGV[i]
  local counts = redis.pcall('HMGET', g, 'left', 'done', 'total', 'dead')
  if counts.err then
    foreign[g] = counts
    counts = {}
  end
  totals[g] = counts
  local m = tonumber(ARGV[i + 3])
  i = i + 4
  for k = i, i + 3 * m - 1, 3 do redis.call('EXISTS', base .. ':r:' .. ARGV[k]) end
  i = i + 3 * m
end
