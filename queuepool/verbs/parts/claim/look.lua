-- The seats that have a turn, by tier; `visit` puts a lane in the place of each that it looks at.
local rings, lanes, active = {}, {}, {} -- active: tiers that have any
for t = 0, 3 do
  rings[t] = base .. ':ring:' .. t
  lanes[t] = redis.call('LRANGE', rings[t], 0, limit - 1)
  if #lanes[t] > 0 then active[#active + 1] = t end
end
local held -- groups, only where any is
if managed then
  -- uses: claim/held
  held = held_of()
end
