-- uses: ours, place_of
-- A lane at a gate that only has the mark of a cancelled job left goes, and its seat, so that
-- nothing counts as waiting there. Among more than 1,000 seats none is sought: then admit ends the
-- mark.
local seats, f = {}, ours('HMGET', g, 'tier', 'moved') or {}
for _, place in ipairs(page[2]) do
  local gate, taken = string.sub(place, 3), 0
  seats[place] = {}
  for t = 0, 3 do
    seats[place][t] = base .. ':gr:' .. t .. ':' .. gate
    taken = taken + (ours('LLEN', seats[place][t]) or 0)
  end
  if taken > 1000 then seats[place] = nil end
end

local function unseat(place, tier)
  local own = tonumber((place_of(f, tier)))
  if redis.call('LREM', seats[place][own], 1, group) > 0 or not f[2] then return end
  for t = 0, 3 do -- it changed its tier, and its seats are not all where that says
    if redis.call('LREM', seats[place][t], 1, group) > 0 then return end
  end
end

-- Returns how many ids left the lane
local function vacate(place)
  local lane = base .. ':gq:' .. place .. '~' .. group
  local id = seats[place] and redis.call('LLEN', lane) == 1 and redis.call('LINDEX', lane, 0)
  if not id or redis.call('HEXISTS', base .. ':cx', id) == 0 then return 0 end
  redis.call('LPOP', lane)
  redis.call('HDEL', base .. ':cx', id)
  unseat(place, string.sub(place, 1, 1))
  redis.call('SREM', gg, place)
  redis.call('HDEL', base .. ':gk', place .. '~' .. group)
  return 1
end
