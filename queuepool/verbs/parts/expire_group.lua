redis.call('PEXPIRE', g, math.max(60000, math.min(86400000, math.floor(60000 * total))))
