-- uses: stamp_of, whole, ours
local function is_cancelled(id, body, g) -- asked to stop itself, or enqueued before its group's cut
  local cut = ours('HGET', g, 'cancelled_at')
  return redis.call('HEXISTS', base .. ':cn', id) == 1 or cut and stamp_of(body) <= whole(cut)
end
