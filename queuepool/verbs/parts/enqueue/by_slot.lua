-- Turns away who routes by an older version than this partition accepts, unless it is known that
-- none of the call's slots has closed since then: `turn_away` notes which ones close. A call with
-- '+' before its version may not overtake one that was turned away, so it is as well.
local mr = base .. ':mr'
local known, slots, i = redis.call('HMGET', mr, 'from', 'to'), {}, 7
local stays = tonumber(known[2]) == least
  and version >= (tonumber(known[1]) or math.huge)
  and string.sub(ARGV[6], 1, 1) ~= '+'
while stays and i < words do
  local n = tonumber(ARGV[i + 3])
  stays = n and n >= 1 and n % 1 == 0 and i + 3 + 2 * n <= words
  for k = i + 5, stays and i + 3 + 2 * n or 0, 2 do slots[string.sub(ARGV[k], 1, 3)] = true end
  i = i + 4 + 2 * (n or 0)
end
for slot in pairs(stays and slots or {}) do
  stays = stays and (tonumber(redis.call('HGET', mr, slot)) or 0) <= version
end
if not stays then return {'MOVED', string.format('%.0f', least)} end
