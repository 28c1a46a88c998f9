-- Takes an id out of a list, and marks before it; the last one stays as a mark. Returns how many
-- left the list; nil if it was not there
local function take_from(list, id)
  local n = 0
  for _ = 1, 1000 do
    local first = redis.call('LINDEX', list, 0)
    if first == id or not first or redis.call('HEXISTS', j, first) == 1 then break end
    if redis.call('LLEN', list) == 1 then break end
    redis.call('HDEL', base .. ':cx', redis.call('LPOP', list))
    n = n + 1
  end
  if redis.call('LREM', list, 1, id) == 0 then return end
  if redis.call('LLEN', list) > 0 then return n + 1 end
  -- No job has such an id
  local mark = '=' .. string.sub(list, #base + 2)
  redis.call('RPUSH', list, mark)
  redis.call('HSET', base .. ':cx', mark, 1)
  return n
end
-- Takes a job out of its place; returns the field that counts it in the record of its group, which
-- the caller lowers: dead, that of its lane (w<tier>), or left. nil: it runs.
-- known: when it is due, when it died, and what lm says
local function take_out(id, body, known)
  if known.died then return redis.call('ZREM', base .. ':dead', id) == 1 and 'dead' or nil end
  if known.due then return leave_delayed(id, group) and 'left' or nil end
  local state, gate = gate_of(known.limits)
  local tier = tier_of(body)
  if state == 'p' then
    local n = take_from(base .. ':gq:' .. tier .. ':' .. gate .. '~' .. group, id)
    if not n then return end
    unpark(group, 1)
    leave_gate(gate, n)
    return 'left'
  end
  return take_from(lane_key({tier = tier, group = group}), id) and 'w' .. tier or nil
end
