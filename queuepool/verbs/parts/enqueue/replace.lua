-- uses: group_of, who_owns, epochs_in_flight, gate_of, urgency
redis.call('ZCARD', dl)
redis.call('ZCARD', base .. ':du')
for _, e in ipairs(epochs) do redis.call('ZCARD', base .. ':fl:' .. e) end
grown, heaviest = 0, 0
-- The body of a job that waits becomes that of a newer one; its id, tier and place stay. Whether
-- that is what is in: not while it runs, unless a repeated call brings what it runs with.
replace = function(id, wish, tail, group, delay)
  local old, own = redis.call('HGET', j, id), stamp
  for _, e in ipairs(epochs) do
    if redis.call('ZSCORE', base .. ':fl:' .. e, id) then return string.sub(old, 14) == tail end
  end
  local _, gate = gate_of(redis.call('HGET', base .. ':lm', id))
  gate = gate or gates and gates[id] or false -- not noted yet: it came with this call
  if group_of(old) ~= group or gate ~= wish.gate then return false end
  if string.sub(old, 3, 13) == own then
    -- uses: other_stamp
    own = string.format('%011x', other_stamp(tonumber(own, 16), was[7]))
  end
  local body = string.sub(old, 1, 2) .. own .. tail
  redis.call('HDEL', j, id)
  redis.call('HSETNX', j, id, body)
  redis.call('HDEL', base .. ':ex', id)
  if wish.ms > 0 then
    redis.call('HSET', base .. ':ex', id, own .. string.format('%.0f', now + wish.ms))
  end
  grown, heaviest = grown + #body - #old, math.max(heaviest, #body)
  if wish.mode == 'd' and redis.call('ZSCORE', dl, id) then
    redis.call('ZADD', dl, now + delay, id)
    local tier = string.sub(old, 2, 2)
    if tier < '2' then redis.call('ZADD', base .. ':du', urgency(tier, now + delay), id) end
    moved = math.min(moved or now + delay, now + delay)
  end
  return true
end
