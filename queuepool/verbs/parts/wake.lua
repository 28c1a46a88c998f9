local function wake(token) -- at most one token of each kind waits
  if not redis.call('LPOS', base .. ':wk', token) then redis.call('RPUSH', base .. ':wk', token) end
end
