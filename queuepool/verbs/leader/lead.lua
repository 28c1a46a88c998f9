#!lua flags=allow-oom
-- lead: become the leading coordinator, stay it, or learn who is.
-- ROLES   coordinator ops-read ops
-- KEYS[1] system base; derived: leader manual
-- ARGV    nonce ('' to only look), lease ms, address (where operators reach this process)
-- Returns {1 or 0 (leading), epoch, now ms, ms left of the lease, leader's address, [partition,
--         workers:expires ms ... set manually]}. Epochs only grow: max(old + 1, server ms).
--         O(manual).
-- uses: leadership
local mine = nonce == ARGV[1]
if ARGV[1] == '' or (not mine and nonce and nonce ~= '' and left > 0) then
  return led
end
if not mine or epoch == '0' then epoch = string.format('%.0f', math.max(epoch + 1, now)) end
redis.call('HSET', leader, 'nonce', ARGV[1], 'epoch', epoch, 'expires', now + ARGV[2],
  'address', ARGV[3])
return {1, epoch, now, tonumber(ARGV[2]), ARGV[3], byhand}
