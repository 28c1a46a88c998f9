#!lua flags=allow-oom
-- command: append one command for the owner of a partition, and remember it as the checkpoint.
-- ROLES   coordinator ops
-- KEYS[1] base; derived: cmd wk ck
-- ARGV    leader epoch, sequence, type (NOOP, SCALE_UP, SCALE_DOWN), target workers, reason,
--         expires after ms, partition
-- Returns {1, id}; or {0, newest id} if there is a newer command: a stale leader, or a repeat.
-- Ids grow with the leader's epoch, so their order alone rejects a replaced leader. O(1).
local base, id = KEYS[1], ARGV[1] .. '-' .. ARGV[2]
local cmd, wk, ck = base .. ':cmd', base .. ':wk', base .. ':ck'
-- uses: clock
local last = redis.call('XREVRANGE', cmd, '+', '-', 'COUNT', 1)
local token = redis.pcall('LPOS', wk, 'c') -- a leader may not repair a foreign value
if type(token) == 'table' and not string.find(token.err, 'WRONGTYPE', 1, true) then error(token) end
redis.call('HLEN', ck)
if last[1] then
  local epoch, seq = string.match(last[1][1], '^(%d+)-(%d+)$')
  local ahead, a, b = tonumber(epoch) - tonumber(ARGV[1]), tonumber(seq), tonumber(ARGV[2])
  if ahead > 0 or (ahead == 0 and a >= b) then return {0, last[1][1]} end
end
redis.call('XADD', cmd, 'MAXLEN', '~', 128, id, 'type', ARGV[3], 'partition', ARGV[7],
  'targetWorkers', ARGV[4], 'reason', ARGV[5], 'expires', now + ARGV[6])
if ARGV[3] ~= 'NOOP' then
  redis.call('HSET', ck, 'target', ARGV[4], 'at', now, 'leader', ARGV[1])
  if not token then redis.call('RPUSH', wk, 'c') end
end
return {1, id}
