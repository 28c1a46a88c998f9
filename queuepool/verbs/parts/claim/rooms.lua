-- Of the groups of these seats that are managed: how many jobs may be taken; their weight, and by
-- tier what is left of a turn that the end of a share cut short. extra: by tier, how many turns
-- their weights add; alone: tiers with one lane
-- uses: whole
local function rooms_of()
  local groups, found = {}, {}
  for _, t in ipairs(active) do
    for _, seat in ipairs(lanes[t]) do groups[#groups + 1] = string.sub(seat, 13) end
  end
  if #groups == 0 then return found end
  for k, room in ipairs(redis.call('HMGET', base .. ':mg', unpack(groups))) do
    if room and not found[groups[k]] then
      local g = base .. ':g:' .. groups[k]
      local f = ours('HMGET', g, 'weight', 't0', 't1', 't2', 't3') or {}
      local owed = {}
      for t = 0, 3 do owed[tostring(t)] = whole(f[2 + t]) end
      found[groups[k]] = {most = whole(room), weight = math.max(1, whole(f[1])), owed = owed}
    end
  end
  return found
end
rooms, extra, alone = rooms_of(), {}, {}
for _, t in ipairs(active) do
  extra[t], alone[t] = 0, redis.call('LLEN', rings[t]) == 1
  for _, seat in ipairs(lanes[t]) do
    local room = rooms[string.sub(seat, 13)]
    if room then extra[t] = extra[t] + room.weight - 1 end
  end
end
