-- uses: add
-- these, of one group, have left dl; with none left there is no index
local function undelay(group, ids)
  if add(base .. ':g:' .. group, 'delayed', -#ids) <= 0 then
    redis.call('UNLINK', base .. ':dg:' .. group)
  else
    redis.call('SREM', base .. ':dg:' .. group, unpack(ids))
  end
end
