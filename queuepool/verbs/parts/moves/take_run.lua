-- Takes jobs of these places in the call out of the lane in which they come first, as `export`
-- lists them, if others follow there. Returns the field that counts them; nil: nothing was taken
local function take_run(there)
  local tier = #there > 0 and tier_of(bodies[there[1]])
  for _, k in ipairs(there) do
    if dues[k] or deaths[k] or limits[k] or tier_of(bodies[k]) ~= tier then return end
  end
  local lane = tier and lane_key({tier = tier, group = group})
  if not lane or redis.call('LLEN', lane) <= #there then return end
  for n, id in ipairs(redis.call('LRANGE', lane, 0, #there - 1)) do
    if id ~= ids[there[n]] then return end
  end
  redis.call('LPOP', lane, #there)
  return 'w' .. tier
end
