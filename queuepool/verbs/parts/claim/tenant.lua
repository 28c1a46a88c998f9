-- A tenant has the turn: its lanes share it. A second seat of the same tenant is of no use.
-- uses: ours
local ring = base .. ':tr:' .. home - 4 .. ':' .. group
seats.tenants = seats.tenants or {}
local known = seats.tenants
lane = {home = home, group = group, ring = ring, length = 0, size = 0, take = 0}
if not known[ring] then
  ours('HLEN', base .. ':tn:' .. group)
  lane.length, known[ring] = ours('LLEN', ring) or 0, lane
  lane.place, lane.room = home - 4 .. '', seats.bounds and seats.bounds[group]
  if extra then alone[lane] = lane.length == 1 end
end
