-- uses: clock, add, wake
-- Ready jobs of a group wait at their gate: in a lane there, which has a seat in a ring there.
-- back: how one that was there before returns to it. ring: the tier of the lane's turns there
local function park(gate, tier, group, ids, back, ring)
  local place, size = tier .. ':' .. gate, nil
  local waiting, g = base .. ':gq:' .. place .. '~' .. group, base .. ':g:' .. group
  if back then
    size = back(waiting, place .. '~' .. group, ids[1])
  else
    size = redis.call('RPUSH', waiting, unpack(ids))
  end
  if size == #ids then
    redis.call('RPUSH', base .. ':gr:' .. (ring or tier) .. ':' .. gate, group)
    redis.call('SADD', base .. ':gg:' .. group, place)
  end
  for _, id in ipairs(ids) do redis.call('HSET', base .. ':lm', id, 'p|' .. gate) end
  add(c, 'parked', #ids)
  add(g, 'parked', #ids)
  if add(base .. ':gt', gate, #ids) == #ids then wake('g') end
end
