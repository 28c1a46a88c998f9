-- uses: counters
-- Counters that are not numbers, or not ours, and bytes that differ from those of the bodies.
local sound, miscounted, known = {}, 0, 0
for k, text in ipairs(redis.call('HMGET', c, unpack(counters))) do
  if text then
    known = known + 1
    if #text <= 16 and string.format('%.0f', whole(text) + 0) == text then -- -0 is invalid
      sound[#sound + 1], sound[#sound + 2] = counters[k], text
    else
      miscounted = miscounted + 1
    end
  end
end
miscounted = miscounted + redis.call('HLEN', c) - known
-- Claims ask about settings, unique keys and expiry only if it is there.
local rare = redis.call('EXISTS', mg, base .. ':mt', base .. ':uk', base .. ':ex',
  base .. ':lm')
local unheard = rare > 0 and not redis.call('HGET', c, 'rare')
if unheard then miscounted = miscounted + 1 end
local tried = redis.call('EXISTS', base .. ':at', base .. ':cr', base .. ':er', base .. ':pr')
local untold = tried > 0 and not redis.call('HGET', c, 'tried')
if untold then miscounted = miscounted + 1 end
local unsound = miscounted > 0
-- At the end of a round; a round of many pages cannot count exactly what changes meanwhile.
local counted = redis.call('HMGET', c, 'bytes', 'dead_bytes')
local slack = cursor == '0' and 0 or 1048576 + bytes / 10
local wrongly = page[1] == '0' and (math.abs(whole(counted[1]) - bytes) > slack
  or math.abs(whole(counted[2]) - dead_bytes) > slack)
if wrongly then miscounted = miscounted + 1 end
