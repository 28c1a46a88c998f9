local function list_managed(group) -- from now on, claims ask for its room
  redis.call('HSET', base .. ':mg', group, 0)
  redis.call('HSET', c, 'rare', 1)
end
