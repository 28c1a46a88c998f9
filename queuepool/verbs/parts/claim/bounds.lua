-- Of the tenants of these seats that have settings: how many jobs may be taken, and their weights
local bounds = {}
for _, t in ipairs(active) do
  local names = {}
  for _, seat in ipairs(seats[t]) do
    if string.find(seat, '^[4-7]') then names[#names + 1] = string.sub(seat, 13) end
  end
  for k, said in ipairs(#names > 0 and redis.call('HMGET', base .. ':mt', unpack(names)) or {}) do
    local name = names[k]
    if said and not bounds[name] then
      local record = base .. ':tn:' .. name
      local f, owed = ours('HMGET', record, 't4', 't5', 't6', 't7', 'max', 'run') or {}, {}
      for d = 4, 7 do owed[tostring(d)] = whole(f[d - 3]) end
      local most = f[5] and math.max(0, whole(f[5]) - whole(f[6])) or 1 / 0
      bounds[name] = {most = said == '0' and 0 or most, weight = math.max(1, whole(said)),
        owed = owed, taken = 0, record = record}
    end
    if said then extra[t] = extra[t] + bounds[name].weight - 1 end
  end
end
