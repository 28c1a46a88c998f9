-- uses: unaside, undelay
-- A job leaves dl before it is due, and what lists it there; whether it was there
local function leave_delayed(id, group)
  if redis.call('ZREM', base .. ':dl', id) == 0 then return false end
  redis.call('ZREM', base .. ':du', id)
  unaside(id)
  undelay(group, {id})
  return true
end
