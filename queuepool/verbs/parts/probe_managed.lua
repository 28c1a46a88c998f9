-- What `tune` touches, before the first write
redis.call('ZCARD', base .. ':dl')
redis.call('HLEN', base .. ':lm')
for t = 0, 3 do redis.call('LLEN', base .. ':ring:' .. t) end
ours('LLEN', base .. ':wk')
