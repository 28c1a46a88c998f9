-- uses: clock, add, wake
-- Ready jobs of a group wait at their gate: in a lane there, which has a seat in a ring there.
local function park(gate, tier, group, ids, front)
  local place, size = tier .. ':' .. gate, nil
  local waiting, g = base .. ':gq:' .. place .. '~' .. group, base .. ':g:' .. group
  if front then
    size = redis.call('LPUSH', waiting, unpack(ids))
  else
    size = redis.call('RPUSH', waiting, unpack(ids))
  end
  if size == #ids then
    redis.call('RPUSH', base .. ':gr:' .. place, group)
    redis.call('SADD', base .. ':gg:' .. group, place)
  end
  for _, id in ipairs(ids) do redis.call('HSET', base .. ':lm', id, 'p|' .. gate) end
  add(c, 'parked', #ids)
  add(g, 'parked', #ids)
  if add(base .. ':gt', gate, #ids) == #ids then wake('g') end
end
