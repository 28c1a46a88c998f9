local seen = {} -- ended in the last minutes, or cancelled and still in a lane
if redis.call('EXISTS', cx, base .. ':dn:0', base .. ':dn:1') > 0 then
  local ids, marks = {}, {}
  i = 5
  while i < words do
    for k = i + 4, i + 2 + 2 * ARGV[i + 3], 2 do
      ids[#ids + 1] = ARGV[k]
      marks[#marks + 1] = '!' .. ARGV[k]
    end
    i = i + 4 + 2 * ARGV[i + 3]
  end
  local places = redis.call('HMGET', cx, unpack(ids))
  for k, id in ipairs(ids) do seen[id] = places[k] end
  local age = now - (tonumber(was[9]) or 0)
  for p = 0, 1 do
    local set = base .. ':dn:' .. p
    if age < 60000 or remembered(set, was[8] == tostring(p), age) then
      local done = redis.pcall('SMISMEMBER', set, unpack(ids))
      local cancelled = redis.pcall('SMISMEMBER', set, unpack(marks))
      if done.err then foreign[set] = done end
      for k, id in ipairs(done.err and {} or ids) do
        seen[id] = seen[id] or done[k] == 1 or cancelled[k] == 1
      end
    end
  end
end
