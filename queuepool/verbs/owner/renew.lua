#!lua flags=allow-oom
-- renew: keep the lease, report, and receive news.
-- ROLES   consumer ops
-- KEYS[1] base; derived: o dr rec cmd cn dl dead j c fl:<epoch> dn:<0|1> at cr er pr
-- ARGV    nonce, epoch, lease ms, beat (count of renewals), workers, busy, target, last applied
--         command, percents in use of CPU and memory (42:63), lifeline (run id of this server,
--         id of a connection of this process, namespace of its pid, joined by colons; "": unknown),
--         about the owner (its release, dead jobs and bytes of them that it keeps: 0.2.0:100:9000),
--         its jobs that ended and its limits ("": none; see limit_uses.py)
-- Returns {role (1 owner, 2 draining, 3 owner that is asked to end, see drain), now ms, rolled back
--         (1: this server lost a beat), epochs to recover, ms until the next delayed job (-1 none),
--         [[command id, [field, value ...]] ...], [ids of running jobs asked to cancel]}; or
--         {FENCED, current epoch}.
-- An expired lease that nobody took is kept. In-flight sets of draining predecessors whose lease
-- ended are queued for recovery, and ids that ended long ago are forgotten. O(commands + cancels).
local base = KEYS[1]
local o, dr, rec, c = base .. ':o', base .. ':dr', base .. ':rec', base .. ':c'
-- uses: clock, whole, asked
local nonce, epoch, beat, drain = unpack(redis.call('HMGET', o, 'nonce', 'epoch', 'beat', 'drain'))
local cancels = asked(base .. ':fl:' .. ARGV[2])
if nonce ~= ARGV[1] or epoch ~= ARGV[2] then
  local leaving = redis.call('HGET', dr, ARGV[2])
  if not leaving or string.find(leaving, ARGV[1] .. ':', 1, true) ~= 1 then
    redis.pcall('HINCRBY', c, 'fenced', 1)
    return {'FENCED', epoch or '0'}
  end
  redis.call('HSET', dr, ARGV[2], ARGV[1] .. ':' .. string.format('%.0f', now + ARGV[3]))
  return {2, now, 0, 0, -1, {}, cancels}
end
-- uses: ended_sets
local drains, booked = redis.call('HGETALL', dr), {} -- one entry per draining process
for i = 1, #drains, 2 do booked[i] = redis.call('ZCARD', base .. ':fl:' .. drains[i]) end
local books = redis.call('LLEN', rec)
local following = redis.call('ZRANGE', base .. ':dl', 0, 0, 'WITHSCORES')
local late, dead = redis.call('ZCARD', base .. ':dl'), redis.call('ZCARD', base .. ':dead')
local asleep = late + dead == redis.call('HLEN', base .. ':j')
local largest, bytes, dead_bytes = unpack(redis.call('HMGET', c, 'largest', 'bytes', 'dead_bytes'))
if dead == 0 then dead_bytes = '0' end
-- No owner may repair a foreign value
local commands = redis.pcall('XRANGE', base .. ':cmd', '(' .. ARGV[8], '+', 'COUNT', 100)
if commands.err and not string.find(commands.err, 'WRONGTYPE', 1, true) then error(commands) end
-- uses: note_tried
redis.call('HSET', o, 'expires', now + ARGV[3], 'heartbeat', now, 'beat', ARGV[4],
  'workers', ARGV[5], 'busy', ARGV[6], 'target', ARGV[7], 'applied', ARGV[8],
  'load', ARGV[2] .. ':' .. (ARGV[9] or ''), -- with the epoch: others may report none
  'about', ARGV[2] .. ':' .. (ARGV[11] or ''),
  'limits', (ARGV[12] or '') ~= '' and ARGV[2] .. ':' .. ARGV[12] or '',
  'line', (ARGV[10] or '') ~= '' and ARGV[2] .. ':' .. ARGV[10] or '')
-- Large bodies are gone, or come through a script
if asleep and largest ~= '0' then redis.call('HSET', c, 'largest', 0) end
-- Otherwise a wrong count would lock producers out
if asleep and late == 0 and (bytes or '0') ~= dead_bytes then
  redis.call('HSET', c, 'bytes', whole(dead_bytes), 'dead_bytes', whole(dead_bytes))
end
for i = 1, #drains, 2 do
  if whole(string.match(drains[i + 1], ':(%d+)$')) < now then
    redis.call('HDEL', dr, drains[i])
    if booked[i] > 0 then books = redis.call('RPUSH', rec, drains[i]) end
  end
end
if not stands and redis.call('EXISTS', base .. ':dn:0', base .. ':dn:1') > 0 then
  -- uses: switch_sets
end
redis.call('PERSIST', dn) -- an older release lets it expire, and finish does not look
return {drain == epoch and 3 or 1, now, whole(beat) < ARGV[4] - 1 and 1 or 0, books,
  following[2] and math.max(0, math.min(math.ceil(following[2] - now), 9e15)) or -1,
  commands.err and {} or commands, cancels}
