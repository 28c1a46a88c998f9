-- Of the groups of these seats that are managed: how many jobs may be taken
-- uses: whole
local function rooms_of()
  local groups, found = {}, {}
  for _, t in ipairs(active) do
    for _, seat in ipairs(lanes[t]) do groups[#groups + 1] = string.sub(seat, 13) end
  end
  if #groups == 0 then return found end
  for k, room in ipairs(redis.call('HMGET', base .. ':mg', unpack(groups))) do
    if room and not found[groups[k]] then
      found[groups[k]] = {most = whole(room), taken = 0}
      ours('HLEN', base .. ':g:' .. groups[k])
    end
  end
  return found
end
