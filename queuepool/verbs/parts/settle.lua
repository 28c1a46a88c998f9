-- uses: add, whole, forget_soon, managed, tune
local function settle(g, n) -- n jobs of a group are over; with none left it is soon forgotten
  if add(g, 'left', -n) <= 0 then
    redis.call('HSET', g, 'finished', now)
    local total, dead = unpack(redis.call('HMGET', g, 'total', 'dead'))
    if whole(dead) <= 0 then forget_soon(g, whole(total)) end
  end
  if managed then tune(string.sub(g, #base + 4)) end
end
