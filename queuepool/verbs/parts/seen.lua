local seen = {} -- ended in the last minutes, or cancelled and still in a lane
local marked = redis.call('EXISTS', cx) == 1
if marked or redis.call('EXISTS', base .. ':dn:0', base .. ':dn:1') > 0 then
  local names, n = {}, 0 -- each id as stored when done, then as stored when cancelled
  i = 7
  while i < words do
    for k = i + 4, i + 2 + 2 * ARGV[i + 3], 2 do
      names[n + 1], names[n + 2] = ARGV[k], '!' .. ARGV[k]
      n = n + 2
    end
    i = i + 4 + 2 * ARGV[i + 3]
  end
  if marked then
    local places = redis.call('HMGET', cx, unpack(names))
    for k = 1, n, 2 do seen[names[k]] = places[k] end
  end
  local age = now - (tonumber(was[9]) or 0)
  for p = 0, 1 do
    local set = base .. ':dn:' .. p
    if age < 60000 or remembered(set, was[8] == tostring(p), age) then
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
