-- The totals of each group, before the first write; and SET takes a key of any type.
local groups, totals = 4 + ARGV[3], {} -- where groups begin in ARGV; totals: by key of the group
local i = groups
while i <= words do
  local g = base .. ':g:' .. ARGV[i]
  local counts = redis.pcall('HMGET', g, 'left', 'done')
  if counts.err then
    foreign = foreign or {}
    foreign[g] = counts
  end
  totals[g] = counts
  if string.byte(ARGV[i]) == 255 then -- perhaps of a tenant
    -- uses: finish/of_tenant
  end
  local last = i + 3
  if ARGV[last] ~= '0' then last = last + 3 * ARGV[last] end
  for k = i + 4, last, 3 do redis.call('EXISTS', base .. ':r:' .. ARGV[k]) end
  i = last + 1
end
