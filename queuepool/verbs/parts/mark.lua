-- uses: special, gate_of, unpark, count_ready, tier_of, group_of
-- A job in a lane or at a gate ends; its id stays there as a mark until its turn.
local function mark(id, body)
  redis.call('HSET', base .. ':cx', id, 1)
  if special and gate_of(redis.call('HGET', base .. ':lm', id)) == 'p' then
    unpark(group_of(body), 1)
  else
    count_ready(tier_of(body), group_of(body), -1)
  end
end
