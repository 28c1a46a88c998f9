#!lua
-- record: store scaling decisions with their inputs, to explain them later.
-- ROLES   coordinator ops
-- KEYS[1] system base; derived: decisions leader
-- ARGV    leader epoch, how many are kept (about), then one JSON text a decision
-- Returns how many were written: 0 if another process leads by now. O(n).
if redis.call('HGET', KEYS[1] .. ':leader', 'epoch') ~= ARGV[1] then return 0 end
for i = 3, #ARGV do
  redis.call('XADD', KEYS[1] .. ':decisions', 'MAXLEN', '~', ARGV[2], '*', 'd', ARGV[i])
end
return #ARGV - 2
