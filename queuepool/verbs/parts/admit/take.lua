-- The next job of a group's lane at the gate goes to the group's lane, if it may run.
local function may_go(group, id)
  if redis.call('HGET', base .. ':mg', group) ~= '0' then return true end
  -- The head of a serial group, which the others wait for
  local rt, hold = unpack(redis.call('HMGET', base .. ':g:' .. group, 'rt', 'hold'))
  return rt == id and not hold
end

local function admit(tier, group, id, size)
  local said = redis.call('HGET', base .. ':ex', id)
  if not said or (tonumber(string.sub(said, 12)) or now + 1) > now then admitted = admitted + 1 end
  most = math.max(most, size)
  unpark(group, 1)
  redis.call('HSET', base .. ':lm', id, ARGV[2] .. '|' .. gate)
  add(base .. ':ga', gate, 1)
  local lane = {tier = tier, group = group}
  if redis.call('HGET', base .. ':g:' .. group, 'rt') == id then
    push_front(lane, id)
  else
    push(lane, {id})
  end
  count_ready(tier, group, 1)
  if managed then tune(group, true) end
end

local function take(tier, group)
  local place = tier .. ':' .. gate
  local waiting, g = base .. ':gq:' .. place .. '~' .. group, base .. ':g:' .. group
  local id = redis.call('LINDEX', waiting, 0)
  if id and not may_go(group, id) then
    redis.call('RPUSH', seats[tonumber(tier)], group)
    idle = idle + 1
    return
  end
  if id then
    redis.call('LPOP', waiting)
    popped = popped + 1
    local body = redis.call('HGET', j, id)
    if not body then
      redis.call('HDEL', base .. ':cx', id) -- cancelled while it waited: its mark ends here
    elseif stamp_of(body) <= whole(redis.call('HGET', g, 'cancelled_at') or '-1') then
      unpark(group, 1)
      end_cancelled(id, g, #body)
      cancelled = cancelled + 1
    else
      admit(tier, group, id, #body)
    end
  end
  if redis.call('LLEN', waiting) > 0 then
    redis.call('RPUSH', seats[tonumber(tier)], group)
  else
    redis.call('SREM', base .. ':gg:' .. group, place)
  end
end
