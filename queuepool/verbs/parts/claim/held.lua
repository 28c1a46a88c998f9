-- Which groups of these seats are held. The seat of a held lane goes; what stands in it stays.
local function held_of()
  local groups, held = {}, {}
  for _, t in ipairs(active) do
    for _, seat in ipairs(lanes[t]) do groups[#groups + 1] = string.sub(seat, 13) end
  end
  if #groups == 0 then return held end
  for k, found in ipairs(redis.call('HMGET', base .. ':mg', unpack(groups))) do
    held[groups[k]] = found
    local g = base .. ':g:' .. groups[k]
    local fields = found and redis.pcall('HLEN', g)
    if type(fields) == 'table' then
      foreign = foreign or {}
      foreign[g] = fields
    end
  end
  return held
end
