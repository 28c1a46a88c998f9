-- Of the groups of these seats that are managed: how many jobs may be taken; their weight, and by
-- tier what is left of a turn that the end of a share cut short. Groups that have only marks left
-- are managed no more: of those that changed their tier, which seats count.
-- uses: whole, place_of
rooms = {}
local function learn(at, page) -- seats of a ring
  local groups = {}
  for _, seat in ipairs(page) do
    if string.find(seat, '^[0-3]') then groups[#groups + 1] = string.sub(seat, 13) end
  end
  for k, room in ipairs(#groups > 0 and redis.call('HMGET', base .. ':mg', unpack(groups)) or {}) do
    if (room or marked) and not rooms[groups[k]] then
      local g = base .. ':g:' .. groups[k]
      local f = ours('HMGET', g, 'weight', 't0', 't1', 't2', 't3', 'tier', 'moved') or {}
      local owed = {}
      for t = 0, 3 do owed[tostring(t)] = whole(room and f[2 + t]) end
      if room or f[7] then
        rooms[groups[k]] = {most = whole(room or 1000000), owed = owed, taken = 0, record = g,
          weight = math.max(1, whole(room and f[1]))}
      end
      if f[7] then
        rooms[groups[k]].place, rooms[groups[k]].moved = place_of({f[6], f[7]})
      end
    end
  end
  for _, group in ipairs(groups) do
    if rooms[group] then extra[at] = extra[at] + rooms[group].weight - 1 end
  end
end
for _, t in ipairs(active) do learn(t, seats[t]) end
seats.learn = learn
