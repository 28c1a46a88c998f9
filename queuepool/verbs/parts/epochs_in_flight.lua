-- Epochs that may have jobs in flight: to be recovered, draining, and of the `holder`. That of an
-- owner that left is among the others.
local to_recover = redis.call('LRANGE', base .. ':rec', 0, 99)
local draining = redis.call('HKEYS', base .. ':dr')
local epochs = {unpack(to_recover)}
for _, epoch in ipairs(draining) do epochs[#epochs + 1] = epoch end
if holder[1] and holder[1] ~= '' then epochs[#epochs + 1] = holder[2] or '0' end
