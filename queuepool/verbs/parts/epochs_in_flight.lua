-- Epochs that may have jobs in flight: those to recover, those that drain, and the owner's. The
-- epoch of an owner that left is among the others.
local to_recover = redis.call('LRANGE', base .. ':rec', 0, 99)
local draining = redis.call('HKEYS', base .. ':dr')
local holder = redis.call('HMGET', base .. ':o', 'nonce', 'epoch')
local epochs = {unpack(to_recover)}
for _, epoch in ipairs(draining) do epochs[#epochs + 1] = epoch end
if holder[1] and holder[1] ~= '' then epochs[#epochs + 1] = holder[2] or '0' end
