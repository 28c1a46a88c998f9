-- uses: managed, add
-- n more jobs stand in a lane of a group; whether that is held, so that they are counted here
local function count_apart(tier, group, n)
  if not managed or redis.call('HEXISTS', base .. ':mg', group) == 0 then return false end
  add(base .. ':g:' .. group, 'w' .. tier, n)
  add(c, 'held', n)
  return true
end
