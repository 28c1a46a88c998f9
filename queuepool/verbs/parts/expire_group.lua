-- uses: kept
redis.call('PEXPIRE', g, string.format('%d', kept))
