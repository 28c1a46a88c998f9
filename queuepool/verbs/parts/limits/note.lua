-- A limit is known for a day after owners asked about it; what people have set stays
local kept = known.set or known.paused
local noted = now - whole(known.at)
local renew = noted >= 3600000 or noted < 0
if renew then
  redis.call('HSET', li, 'at', now)
  redis.call('ZADD', ls, 0, name)
  if kept then redis.call('PERSIST', li) else redis.call('PEXPIRE', li, 86400000) end
end
