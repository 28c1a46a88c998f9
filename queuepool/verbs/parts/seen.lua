-- What ended in the last minutes, or was cancelled and is still in a lane; and since when the set
-- of ended ids is in use, if there is one.
local seen, since = {}, nil
if redis.call('EXISTS', cx, base .. ':dn:0', base .. ':dn:1') > 0 then
  -- uses: remembered
  local names, n = {}, 0 -- each id as stored when done, then as stored when cancelled
  i = 7
  while i < words do
    for k = i + 4, i + 2 + 2 * ARGV[i + 3], 2 do
      names[n + 1], names[n + 2] = ARGV[k], '!' .. ARGV[k]
      n = n + 2
    end
    i = i + 4 + 2 * ARGV[i + 3]
  end
  if redis.call('EXISTS', cx) == 1 then
    local places = redis.call('HMGET', cx, unpack(names))
    for k = 1, n, 2 do seen[names[k]] = places[k] end
  end
  local in_use, at = unpack(redis.call('HMGET', c, 'dn', 'dn_since'))
  since = tonumber(at) or 0
  local age = now - since
  for p = 0, 1 do
    local set = base .. ':dn:' .. p
    if age < 60000 or remembered(set, in_use == tostring(p), age) then
      local ended = redis.pcall('SMISMEMBER', set, unpack(names))
      if ended.err then
        foreign = foreign or {}
        foreign[set] = ended
      end
      for k = 1, ended.err and 0 or n, 2 do
        if ended[k] == 1 or ended[k + 1] == 1 then seen[names[k]] = true end
      end
    end
  end
end
