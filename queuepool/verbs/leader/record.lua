#!lua
-- record: store scaling decisions with their inputs, to explain them later.
-- ROLES   coordinator ops
-- KEYS[1] system base; derived: why:<partition> leader
-- ARGV    leader epoch, how many are kept of a partition (about), then partition and text of each
-- Returns how many were written: 0 if another process leads by now. O(n).
if redis.call('HGET', KEYS[1] .. ':leader', 'epoch') ~= ARGV[1] then return 0 end
for i = 3, #ARGV, 2 do redis.call('XLEN', KEYS[1] .. ':why:' .. ARGV[i]) end
for i = 3, #ARGV, 2 do
  redis.call('XADD', KEYS[1] .. ':why:' .. ARGV[i], 'MAXLEN', '~', ARGV[2], '*', 'd', ARGV[i + 1])
end
return (#ARGV - 2) / 2
