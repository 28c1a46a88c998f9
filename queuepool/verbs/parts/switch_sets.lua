for _, set in ipairs(over or {}) do -- unless it expires: then it has ids of an older release
  -- Frees it in the background
  if redis.call('PTTL', set) < 0 then redis.call('UNLINK', set) end
end
stands = redis.call('HSET', c, 'dn', sets[1], 'dn_since', now) -- any reply is true
