-- The lanes that have seats. complete: all of those outside of tenants' rings are known; long: of
-- tenants' rings, whether they have too many seats to read; sitting: those whose tenant has a seat
-- uses: tenant_of
local listed = redis.call('HLEN', mg) > 0
local seated, complete, long, sitting, budget, absent = {}, true, {}, {}, 4000, {}
local function note(seat)
  if not string.find(seat, '^[0-3]') then return end
  local lane = {tier = string.sub(seat, 1, 1), group = string.sub(seat, 13)}
  if listed and redis.call('HEXISTS', mg, lane.group) == 1 then seek_place(lane) end
  -- One from before its group changed its tier does not count
  if (tonumber(string.sub(seat, 2, 12), 16) or 0) >= (lane.since or 0) then
    seated[lane_key(lane)] = lane
  end
end
local function read_tenant(tier, tenant) -- whether its lanes that have seats are known
  local ring = base .. ':tr:' .. tier .. ':' .. tenant
  if long[ring] == nil then
    local size = ours('LLEN', ring) or 0
    long[ring] = size > math.min(1000, budget)
    if not long[ring] and size > 0 then
      budget = budget - size
      for _, seat in ipairs(redis.call('LRANGE', ring, 0, -1)) do note(seat) end
    end
    local out = ours('HEXISTS', base .. ':tn:' .. tenant, 'o' .. tier + 4) == 1
    if size > 0 and complete and not sitting[ring] and not out then
      absent[#absent + 1] = {tier = tier, tenant = tenant}
    end
  end
  return not long[ring]
end
for t = 0, 3 do
  complete = complete and redis.call('LLEN', base .. ':ring:' .. t) <= 1000
  for _, seat in ipairs(redis.call('LRANGE', base .. ':ring:' .. t, 0, 999)) do
    note(seat)
    if string.find(seat, '^[4-7]') then
      sitting[base .. ':tr:' .. string.sub(seat, 1, 1) - 4 .. ':' .. string.sub(seat, 13)] = seat
    end
  end
end
for _, seat in pairs(sitting) do read_tenant(string.sub(seat, 1, 1) - 4, string.sub(seat, 13)) end
