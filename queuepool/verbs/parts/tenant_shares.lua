-- uses: whole
local BOUNDS = {'hold', 'max', 'run', 'state', 'apart', 'e0', 'e1', 'e2', 'e3',
  'c0', 'c1', 'c2', 'c3', 'o4', 'o5', 'o6', 'o7', 'weight'}
-- What of a tenant may be claimed: how many jobs; by tier, the ones among those that its groups let
-- run; what counts the others, and how many these are. f: its fields; waiting: the former, by tier
local function tenant_shares(f, waiting)
  local room, most, left = 1000000, whole(f[2]), nil
  if most > 0 then room = math.max(0, most - whole(f[3])) end
  if f[1] then room = 0 end
  local able, apart = {}, 0
  left = room
  for t = 0, 3 do
    able[t] = math.min(waiting[t], left)
    left, apart = left - able[t], apart + waiting[t] - able[t]
  end
  return room, able, f[1] and 'held' or 'capped', apart
end
