redis.call('PEXPIRE', g, total <= 1 and 60000 or math.min(86400000, math.floor(60000 * total)))
