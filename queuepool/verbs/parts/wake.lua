local function wake(token) -- one token of a kind waits at most
  if not redis.call('LPOS', base .. ':wk', token) then redis.call('RPUSH', base .. ':wk', token) end
end
