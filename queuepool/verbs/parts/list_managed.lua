-- uses: renew_seats
local function list_managed(group) -- from now on, claims ask for its room
  redis.call('HSET', c, 'rare', 1)
  -- While it was not listed, marks in its lanes had seats as of a plain group
  if redis.call('HSET', base .. ':mg', group, 0) == 1
    and redis.call('HEXISTS', base .. ':g:' .. group, 'moved') == 1 then renew_seats(group) end
end
