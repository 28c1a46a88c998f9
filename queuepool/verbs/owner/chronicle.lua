#!lua flags=allow-oom
-- chronicle: keep a record of executions that ended, and forget the oldest beyond some bytes.
-- ROLES   consumer ops
-- KEYS[1] base; derived: o dr c h
-- ARGV    nonce, epoch, bytes to keep, lines: of one execution each
-- Returns how many entries there are; or {FENCED, current epoch}. A draining owner may.
-- An entry is `<bytes of all lines until now> <ms>`, a line break, and the lines. O(1): an entry
-- forgets at most 100.
local base, h = KEYS[1], KEYS[1] .. ':h'
local c = base .. ':c'
-- uses: clock, fence_or_drain, ours, whole
local function bytes_until(entry) return whole(string.match(entry or '', '^(%d+) ')) end
local last = ours('LINDEX', h, -1)
-- uses: make_way
local sum = bytes_until(last) + #ARGV[4]
redis.call('RPUSH', h, string.format('%.0f %.0f\n', sum, now) .. ARGV[4])
for _ = 1, 100 do
  local first = redis.call('LINDEX', h, 0)
  local of_first = #first - (string.find(first, '\n', 1, true) or 0)
  if sum - bytes_until(first) + of_first <= tonumber(ARGV[3]) then break end
  redis.call('LPOP', h)
  if redis.call('LLEN', h) == 0 then break end
end
return redis.call('LLEN', h)
