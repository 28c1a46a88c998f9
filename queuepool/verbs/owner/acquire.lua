#!lua flags=allow-oom
-- acquire: become the owner of a partition, unless another owner's lease still runs.
-- ROLES   consumer ops
-- KEYS[1] base; derived: o c rec ck dr fl:<old epoch> at cr er pr
-- ARGV    nonce, lease ms, host (for people), replace (1: take what an ended lease left; 0: tell
--         only; 2: take it also from this owner, whose process is gone), its epoch, its heartbeat,
--         the protocol of the caller
-- Returns {1, epoch, now ms, books to recover, checkpoint target, checkpoint ms, id of the last
--         applied command}; or {0, ms until the lease ends, epoch of the holder, its heartbeat ms,
--         its lifeline ('': unknown), its host}.
-- Epochs only grow, even across a failover that lost the last one: max(old + 1, server ms). O(1).
local base = KEYS[1]
local o, c, rec = base .. ':o', base .. ':c', base .. ':rec'
-- uses: clock, whole
local nonce, epoch, expires, heartbeat, applied, line, host, spoken = unpack(redis.call('HMGET', o,
  'nonce', 'epoch', 'expires', 'heartbeat', 'applied', 'line', 'host', 'protocol'))
local left = whole(expires) - now
local gone = ARGV[4] == '2' and epoch == ARGV[5] and heartbeat == ARGV[6]
local stays = ARGV[4] == '0' or left > 0 and not gone
if nonce and nonce ~= '' and nonce ~= ARGV[1] and stays then
  -- The clock went back: restart the lease, or it outlasts its owner by the jump
  if whole(heartbeat) > now then
    left = whole(expires) - whole(heartbeat)
    redis.call('HSET', o, 'heartbeat', now, 'expires', now + left)
    heartbeat = now
  end
  -- An owner of an earlier release leaves what the one before it had written
  if not line or string.find(line, (epoch or '') .. ':', 1, true) ~= 1 then line = '' end
  return {0, math.max(0, left), string.format('%.0f', whole(epoch)), whole(heartbeat), line,
    host or ''}
end
local books, ck = redis.call('LLEN', rec), redis.pcall('HMGET', base .. ':ck', 'target', 'at')
-- No owner may repair a foreign value
if ck.err and not string.find(ck.err, 'WRONGTYPE', 1, true) then error(ck) end
local booked = epoch and nonce ~= '' and redis.call('ZCARD', base .. ':fl:' .. epoch) or 0
-- The least protocol of this owner, of the one before, and of those before it, while these drain
local protocol, drains = whole(ARGV[7]), redis.call('HEXISTS', base .. ':dr', epoch or '')
local least, of, last, before = protocol, string.match(spoken or '', '^(%d+):(%d+):(%d+)$')
if of ~= epoch then last, before = nil, nil end
if drains == 1 then least = math.min(least, whole(last)) end
if redis.call('HLEN', base .. ':dr') > drains then least = math.min(least, whole(before)) end
-- uses: note_tried
local new = math.max(whole(epoch) + 1, now)
if booked > 0 then books = redis.call('RPUSH', rec, epoch) end
redis.call('HSET', o, 'nonce', ARGV[1], 'epoch', string.format('%.0f', new),
  'expires', now + ARGV[2], 'heartbeat', now, 'host', ARGV[3], 'since', now, 'beat', 0,
  'seq', 0, 'workers', 0, 'busy', 0, 'target', 0, 'line', '',
  'protocol', string.format('%.0f:%.0f:%.0f', new, protocol, least))
return {1, new, now, books, ck[1] or '', ck[2] or '', applied or '0-0'}
