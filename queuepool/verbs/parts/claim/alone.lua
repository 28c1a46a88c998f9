-- A lane that is alone has every turn: planning costs more than claiming one of its jobs.
local ring = #active == 1 and active[1]
local seat = ring and #seats[ring] == 1 and not extra and not ahead and seats[ring][1]
local home = seat and string.sub(seat, 1, 1)
if home and not string.find(home, '[4-7]') then
  local group = string.sub(seat, 13)
  local key = base .. ':q:' .. home .. ':' .. group
  local size = redis.pcall('LLEN', key)
  if type(size) == 'number' and size > 0 then
    planned, visited[ring] = math.min(limit, size), 1
    seats[ring][1] = {key = key, home = home, group = group, size = size, take = planned}
  end
end
