-- A tenant has the turn: its lanes share it. A second seat of the same tenant is of no use.
local ring = base .. ':tr:' .. home - 4 .. ':' .. group
tenants = tenants or {}
lane = {home = home, group = group, ring = ring, length = 0, size = 0, take = 0}
if not tenants[ring] then
  local length = redis.pcall('LLEN', ring)
  if type(length) == 'table' then
    foreign = foreign or {}
    foreign[ring] = length
    length = 0
  end
  lane.length, tenants[ring] = length, lane
  rings[ring], lane.place = ring, home - 4 .. ''
  if rooms then alone[lane] = length == 1 end
end
