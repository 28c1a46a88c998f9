-- uses: whole
-- A finished group is kept for a minute per job, at most a day; or for as long as its settings are.
-- One with jobs that changed its tier, for a day: its record tells which of its seats count
local function forget_soon(g, total)
  local keep, moved = unpack(redis.call('HMGET', g, 'keep', 'moved'))
  local minutes = moved and total > 0 and 1440 or math.min(1440, total)
  redis.call('PEXPIRE', g, math.max(whole(keep), 60000, math.floor(60000 * minutes)))
end
