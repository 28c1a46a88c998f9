#!lua flags=allow-oom
-- ask: tokens and permits of a limit, for the owner of any partition.
-- ROLES   consumer ops
-- KEYS[1] base; derived: li:<limit> lc:<limit> lt:<limit> lw:<limit> ls lp:<place>
-- ARGV    limit, place and epoch of the asker, serial (grows with its asks; 0: unknown), tokens
--         wanted, permits held (jobs that run), permits wanted in all, definition in code ('':
--         none)
-- Returns {now us, tokens granted, us of the first, us between two (text), permits: how many jobs
--         may run at once (fewer than run: do not replace those that end), us at which to ask again
--         (0: no need), 1 if paused}. A limit that nobody defined grants whatever is wanted.
-- A token is the right to start one job from its time on, for 2 s. Permits are absolute, so that a
-- repeated or lost ask changes nothing. O(log askers), once a second O(askers).
local base, name, asker = KEYS[1], ARGV[1], ARGV[2] .. ':' .. ARGV[3]
-- uses: limits/us, whole, limits/known, limits/names, limits/forgotten, limits/definition
-- uses: limits/pace
local lc, lp = base .. ':lc:' .. name, base .. ':lp:' .. ARGV[2]
local lt, lw = base .. ':lt:' .. name, base .. ':lw:' .. name
local epoch, serial, wants = whole(ARGV[3]), whole(ARGV[4]), math.min(whole(ARGV[5]), 1000)
local held, total = whole(ARGV[6]), whole(ARGV[7])
local mine = ours('HGET', lc, asker)
local tickets, waiting = ours('ZCARD', lt) or 0, ours('ZCARD', lw) or 0
local newest = whole(ours('HGET', lp, ''))
-- uses: limits/make_way
local had, due, slice, last = string.match(mine or '', '^(%d+):(%d+):(%d+):(%d+)$')
had, slice, last = whole(had), whole(slice), whole(last)
local paused = known.paused and 1 or 0
-- A repetition, or overtaken by a later one: more may run since than it says
if serial > 0 and serial <= last then return {us, 0, us, '0', had, us + 20000, paused} end
-- uses: limits/note
for _, other in ipairs(forgotten) do redis.call('ZREM', ls, other) end
if ARGV[8] ~= '' and ARGV[8] ~= known.code and definition_of(ARGV[8]) then
  known.code = ARGV[8]
  redis.call('HSET', li, 'code', ARGV[8])
end
local d = definition_of(known.set) or definition_of(known.code) or
  {rate = 0, permits = 0, most = 0}
if paused == 1 or epoch < newest then wants, total = 0, 0 end
if epoch < newest then held = math.min(held, had) end -- nor has it more than it was granted before
-- uses: limits/rewind
local pace, seen = d.most > 0 and pace_of(d) or d.rate, whole(known.seen)
-- uses: limits/line, limits/book, limits/share
if d.most > 0 and wants > granted and wait <= us and seen > 0 and seen < us then -- used up
  pace = math.min(d.most, pace + (d.most - d.least) * math.min(us - seen, 1000000) / 1e7)
end
-- Soon enough to hear of another rate, or of the end of a pause
if again > 0 then again = math.min(again, us + 5000000) end
if paused == 1 then again = us + 1000000 end
if stored > 0 and again == 0 then again = us + 3600000000 end
if d.permits > 0 or ticket then
  due = math.ceil(math.max(us, again) / 1000)
  if idle then due, slice = 0, now end
  redis.call('HSET', lc, asker, string.format('%.0f:%.0f:%.0f:%.0f', stored, due, slice, serial))
elseif mine then
  redis.call('HDEL', lc, asker)
end
if renew or not mine then redis.call('PEXPIRE', lc, 86400000) end
if stored > 0 and had == 0 then
  redis.call('HSET', lp, '', math.max(newest, epoch), name .. ':' .. ARGV[3], 1)
  redis.call('PERSIST', lp)
elseif stored == 0 and had > 0 then
  redis.call('HDEL', lp, name .. ':' .. ARGV[3])
  if redis.call('HLEN', lp) <= 1 then redis.call('PEXPIRE', lp, 86400000) end
end
if d.rate + d.permits + wait > 0 then
  -- uses: limits/recent
  redis.call('HSET', li, 'tat', tat, 'until', wait, 'told', told, 'seen', us, 'used', used,
    'askers', askers, 'pace', string.format('%.3f', pace), 'summed', summed, 'granted',
    whole(known.granted) + granted, 'since', since, 'n0', this + granted, 'n1', previous)
end
return {us, granted, first, string.format('%.3f', apart), allowed, again, paused}
