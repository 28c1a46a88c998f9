-- uses: urgency
local place = string.format('%d', urgency(tier, now + delay))
for k = 1, #due, 2 do due[k] = place end
redis.call('ZADD', base .. ':du', unpack(due))
