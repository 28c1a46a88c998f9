-- A job of `export` comes to its place, which is argument i; lanes: ids by tier; came: how many,
-- and their bytes, which the caller counts
local came = {left = 0, dead = 0, bytes = 0, dead_bytes = 0}
local function settle_in(id, body, i)
  local place, ended = ARGV[i], ARGV[i] == 'x'
  newest = math.max(newest, stamp_of(body))
  came.bytes = came.bytes + #body
  if ended then
    came.dead = came.dead + 1
    redis.call('ZADD', base .. ':dead', now - whole(ARGV[i + 1]), id)
    came.dead_bytes = came.dead_bytes + #body
  else
    came.left = came.left + 1
    heaviest = math.max(heaviest, #body)
    if place == 'd' then
      local due = now + whole(ARGV[i + 1])
      if waits_for_release(due) and not is_held(ARGV[i + 8]) then due = due - until_release end
      delay(id, tier_of(body), group, due)
      wake('d')
    else
      local tier = tier_of(body)
      lanes[tier] = lanes[tier] or {}
      lanes[tier][#lanes[tier] + 1] = id
    end
  end
  if place == '' then return end
  local said, by, gate, task = unpack(ARGV, i + 5, i + 8)
  for k, hash in ipairs({'at', 'cr', 'er'}) do
    if ARGV[i + 1 + k] ~= '' then
      redis.call('HSET', base .. ':' .. hash, id, ARGV[i + 1 + k])
      redis.call('HSET', c, 'tried', 1)
    end
  end
  local key, started = string.sub(said, 2), string.sub(said, 1, 1) == 'S'
  if said .. by .. gate ~= '' then redis.call('HSET', c, 'rare', 1) end
  if said ~= '' and not ended and not started and (holder_of(key) or id) ~= id then
    add(c, 'conflicts', 1) -- unique keys are unique within a partition
  elseif said ~= '' then
    redis.call('HSET', base .. ':uk', id, said)
    if not ended and not started then redis.call('HSET', base .. ':u', key, id) end
  end
  if by ~= '' then
    local stamp = string.sub(body, 3, 13)
    redis.call('HSET', base .. ':ex', id, stamp .. string.format('%.0f', now + whole(by)))
  end
  if gate ~= '' then
    redis.call('HSET', base .. ':lm', id, '0|' .. gate)
    if place ~= 'x' and place ~= 'd' then
      redis.call('SADD', base .. ':ll', tier_of(body) .. ':' .. group)
    end
  end
  if task ~= '' then redis.call('HSET', base .. ':ua', id, task) end
end
