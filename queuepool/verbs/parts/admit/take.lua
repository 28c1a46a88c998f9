-- The next job of a group's lane at the gate goes to the group's lane, if it may run.
local function may_go(tier, group, id) -- and whether it goes before what is there
  local room, tenant = redis.call('HGET', base .. ':mg', group), tenant_of(group)
  if tenant and redis.call('HGET', base .. ':mt', tenant) == '0' then return false end -- no room
  if not room then return true, false end
  local rt, hold, serial, moving = unpack(redis.call('HMGET', base .. ':g:' .. group, 'rt',
    'hold', 'serial', 'moving'))
  -- The head of a serial group, which the others wait for
  if rt == id then return not (hold or moving), true end
  -- One at a time keeps their order: what was admitted before it comes first
  local head = serial and redis.call('LINDEX', base .. ':q:' .. tier .. ':' .. group, 0)
  local state = head and gate_of(redis.call('HGET', base .. ':lm', head))
  if state and string.find(state, '^[1-9]') then return false end
  return room ~= '0', serial
end

local function admit(tier, group, id, size, front)
  local said = redis.call('HGET', base .. ':ex', id)
  if not said or (tonumber(string.sub(said, 12)) or now + 1) > now then admitted = admitted + 1 end
  most = math.max(most, size)
  unpark(group, 1)
  redis.call('HSET', base .. ':lm', id, ARGV[2] .. '|' .. gate)
  add(base .. ':ga', gate, 1)
  local lane = {tier = tier, group = group}
  if front then
    push_front(lane, id)
  else
    push(lane, {id})
  end
  count_ready(tier, group, 1)
  if managed then tune(group, true) end
end

-- Of a group with a tier of its own the turn may be for any of its lanes here.
local function lane_at_gate(tier, group)
  for t = 0, 3 do
    local size = ours('LLEN', base .. ':gq:' .. t .. ':' .. gate .. '~' .. group)
    if size and size > 0 then return t end
  end
  return tier
end

local function take(tier, group)
  local g = base .. ':g:' .. group
  local own = redis.call('EXISTS', base .. ':gq:' .. tier .. ':' .. gate .. '~' .. group) == 1
  local home = own and tier or lane_at_gate(tier, group)
  local place = home .. ':' .. gate
  local waiting = base .. ':gq:' .. place .. '~' .. group
  local id, go, front = redis.call('LINDEX', waiting, 0), true, false
  local body = id and redis.call('HGET', j, id)
  if body then go, front = may_go(home, group, id) end
  if not go then
    redis.call('RPUSH', seats[tonumber(tier)], group)
    idle = idle + 1
    return
  end
  if id then
    redis.call('LPOP', waiting)
    popped = popped + 1
    local last = redis.call('HGET', base .. ':gk', place .. '~' .. group) -- that came back
    if last == id then redis.call('HDEL', base .. ':gk', place .. '~' .. group) end
    if not body then
      redis.call('HDEL', base .. ':cx', id) -- it ended while it waited: its mark ends here
    elseif stamp_of(body) <= whole(redis.call('HGET', g, 'cancelled_at') or '-1') then
      unpark(group, 1)
      end_cancelled(id, g, #body)
      cancelled = cancelled + 1
    else
      admit(home, group, id, #body, front)
    end
  end
  if redis.call('LLEN', waiting) > 0 then
    redis.call('RPUSH', seats[tonumber(tier)], group)
  else
    redis.call('SREM', base .. ':gg:' .. group, place)
    redis.call('HDEL', base .. ':gk', place .. '~' .. group) -- it may have been cancelled, or moved
  end
end
