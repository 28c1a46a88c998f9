-- Whether any group with work left has a hold: claims ask about it, its ready jobs count apart.
local managed = redis.call('HLEN', base .. ':mg') > 0
for t = 0, managed and 3 or -1 do redis.call('LLEN', base .. ':ring:' .. t) end
