-- uses: whole
-- A finished group is kept for a minute per job, at most a day; or for as long as its settings are
local function forget_soon(g, total)
  local keep = whole(redis.call('HGET', g, 'keep'))
  redis.call('PEXPIRE', g, math.max(keep, 60000, math.min(86400000, math.floor(60000 * total))))
end
