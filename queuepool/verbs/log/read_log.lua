#!lua flags=no-writes
-- read_log: read entries of the log, the newest of each kind first.
-- ROLES   coordinator ops-read ops
-- KEYS[1] system base; derived: log:<kind>
-- ARGV    from ms, until ms ('+': now), how many of a kind (1-1000), for how many ms entries are
--         kept, then kinds
-- Returns [now ms, [kind, id, text] ...], '' for a text of more than 4,096 bytes. O(count).
-- uses: clock
local from = string.format('%.0f', math.max(0, ARGV[1], now - ARGV[4]))
local found = {now}
for i = 5, #ARGV do
  local log = KEYS[1] .. ':log:' .. ARGV[i]
  for _, entry in ipairs(redis.call('XREVRANGE', log, ARGV[2], from, 'COUNT', ARGV[3])) do
    local text = entry[2][2]
    found[#found + 1] = {ARGV[i], entry[1], #text <= 4096 and text or ''}
  end
end
return found
