-- Takes an id out of a list, and marks before it; the last one stays as a mark. Returns how many
-- left the list; nil if it was not there
local function take_from(list, id)
  local n = 0
  for _ = 1, 1000 do
    local first = redis.call('LINDEX', list, 0)
    if not first or redis.call('HEXISTS', j, first) == 1 then break end
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
-- Takes a job out of its place; returns what counts it in the record of its group. nil: it runs
local function take_out(id, body)
  if redis.call('ZREM', base .. ':dead', id) == 1 then return 'dead' end
  if leave_delayed(id, group) then return 'left' end
  local state, gate = gate_of(redis.call('HGET', base .. ':lm', id))
  local tier = tier_of(body)
  if state == 'p' then
    local n = take_from(base .. ':gq:' .. tier .. ':' .. gate .. '~' .. group, id)
    if not n then return end
    unpark(group, 1)
    leave_gate(gate, n)
    return 'left'
  end
  if not take_from(lane_key({tier = tier, group = group}), id) then return end
  add(g, 'w' .. tier, -1)
  return 'left'
end
