#!lua flags=allow-oom
-- tend_batches: conclude batches that are complete, or late; forget old ones.
-- ROLES   consumer ops
-- KEYS[1] base; derived: o c j bd b:<batch> bb:<batch> bf:<batch> br:<batch>:<page> dl du
--         dg:<group> ua dead at cr er cn g:<group> mg ring:<0-3> tr:<0-3>:<tenant> tn:<tenant> mt
--         tt:<tenant> u uk ex lm ga wk fo
-- ARGV    nonce, epoch
-- Returns {continuations that are due now, continuations that died, batches forgotten, ms until the
--         next batch is due (0: more are due, -1: there is none)}; or {FENCED, current epoch}.
-- The continuation is a delayed job, stored with the batch: it becomes due, or dies. At most 20
-- batches, and 200 pages of results of old ones. O(20 log delayed).
-- A batch that is not sealed, and whose continuation is not there, stays open at its deadline until
-- its producer has stored that; if it never does, it is forgotten as one that has concluded.
local base, c, j = KEYS[1], KEYS[1] .. ':c', KEYS[1] .. ':j'
local dl, bd = base .. ':dl', base .. ':bd'
-- uses: fence, clock, check_hashes, bury, leave_delayed, group_of, add, ours, whole, managed
-- uses: probe_tenant, is_complete, flows/why_failed, move_due
redis.call('ZCARD', base .. ':du')
redis.call('ZCARD', base .. ':dead')
check_hashes('c', 'at', 'cr', 'er', 'cn', 'ua')
local batches = {}
for _, name in ipairs(redis.call('ZRANGEBYSCORE', bd, '-inf', now, 'LIMIT', 0, 20)) do
  local b = base .. ':b:' .. name
  local f = ours('HMGET', b, unpack(COUNTS)) or {}
  local more = ours('HMGET', b, 'due', 'late', 'then', 'keep', 'top', 'swept', 'part') or {}
  ours('STRLEN', base .. ':bb:' .. name)
  ours('HLEN', base .. ':bf:' .. name)
  -- The outcome of a step, or of a flow, is told as it is noted: nothing is to be concluded
  local open = f[1] == 'open' and more[7] ~= 's' and more[7] ~= 'f'
  local body = more[3] and redis.call('HGET', j, more[3])
  local early = open and f[2] ~= '1' and not body
  if early and now >= whole(more[1]) + math.max(60000, whole(more[4])) then open = false end
  batches[#batches + 1] = {name = name, f = f, more = more, body = body, open = open,
    early = early, waits = body and redis.call('ZSCORE', dl, more[3])}
  if body then
    ours('HLEN', base .. ':g:' .. group_of(body))
    ours('SCARD', base .. ':dg:' .. group_of(body))
    probe_tenant(group_of(body))
  end
  local pages = (open or body) and 0 or math.ceil(whole(more[5]) / 128)
  local first = whole(more[6])
  for page = first, math.min(pages, first + 200) - 1 do
    ours('HLEN', base .. ':br:' .. name .. ':' .. string.format('%.0f', page))
  end
end
-- uses: make_way, flows/conclude, flows/forget_batch
local fired, failed, forgotten, budget = 0, 0, 0, 200
for _, batch in ipairs(batches) do
  if batch.open then
    local verdict = conclude(batch)
    if verdict == 'fired' then fired = fired + 1 end
    if verdict == 'failed' then failed = failed + 1 end
  elseif batch.body then -- it may still want the results
    redis.call('ZADD', bd, now + math.max(60000, whole(batch.more[4])), batch.name)
  else
    local gone
    gone, budget = forget_batch(batch, budget)
    if gone then forgotten = forgotten + 1 end
  end
end
local next_due = redis.call('ZRANGE', bd, 0, 0, 'WITHSCORES')[2]
return {fired, failed, forgotten, next_due and math.min(math.max(0, next_due - now), 9e15) or -1}
