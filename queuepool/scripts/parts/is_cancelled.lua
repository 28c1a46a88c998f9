-- uses: stamp_of
local function is_cancelled(id, body, g) -- asked to stop itself, or enqueued before its group's cut
  local cut = tonumber(redis.call('HGET', g, 'cancelled_at') or -1)
  return redis.call('HEXISTS', base .. ':cn', id) == 1 or stamp_of(body) <= cut
end
