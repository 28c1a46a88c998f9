-- uses: managed, add, count_able
-- n more jobs are in a lane; of a managed group it is `tune` that counts them as ready
local function count_ready(tier, group, n)
  if managed and redis.call('HEXISTS', base .. ':mg', group) == 1 then
    add(base .. ':g:' .. group, 'w' .. tier, n)
  else
    count_able(tier, group, n)
  end
end
