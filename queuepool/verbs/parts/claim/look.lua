-- The seats that have a turn, by tier; `visit` replaces each seat that it checks with its lane.
local rings, lanes, active = {}, {}, {} -- active: tiers that have any
for t = 0, 3 do
  rings[t] = base .. ':ring:' .. t
  lanes[t] = redis.call('LRANGE', rings[t], 0, limit - 1)
  if #lanes[t] > 0 then active[#active + 1] = t end
end
local rooms, extra, alone -- of managed groups, where there are any
if managed then
  -- uses: ours, claim/rooms
  redis.call('ZCARD', base .. ':dl') -- `tune` touches it, and the tokens
  ours('LLEN', base .. ':wk')
end
