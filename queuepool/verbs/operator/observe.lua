#!lua flags=no-writes
-- observe: everything that the coordinator and operators need to know about one partition.
-- ROLES   coordinator ops-read ops
-- KEYS[1] base; derived: j c o dl ua ht dead dr rec ck cmd fl:<epochs> ring:<0-3> tr:<0-3>:<tenant>
--         q:<tier>:<group> fo bd
-- Returns {now ms, [counter, value ...], [the owner's nonce, epoch, host, expires, heartbeat,
--         workers, busy, target, applied, load, about, limits, drain, protocol; nil: missing],
--         jobs, delayed, in-flight, dead, [seats of tier 0-3: lanes, and tenants], ms that the
--         oldest waiting job waits (over the lanes next in turn, at most 4 a tier, and the delayed
--         jobs that are due), books to recover, draining, [checkpoint field, value ...], last
--         command id, jobs set aside for tasks that nobody here knows, names of some of these
--         tasks, ends that are to be told to batches and one more if a batch is due, delayed jobs
--         of held tasks, [held task, since ms ...]}. The jobs of held tasks are within those that
--         are delayed and set aside.
-- O(1): no part grows with jobs or groups.
local base = KEYS[1]
local j, c = base .. ':j', base .. ':c'
local holder = redis.call('HMGET', base .. ':o', 'nonce', 'epoch', 'host', 'expires', 'heartbeat',
  'workers', 'busy', 'target', 'applied', 'load', 'about', 'limits', 'drain', 'protocol')
-- uses: clock, until_release
-- uses: epochs_in_flight
local counts = {}
if redis.call('HLEN', c) <= 100 then
  counts = redis.call('HGETALL', c)
else -- most of them are no counters: somebody else's
  -- uses: counters
  for k, text in ipairs(redis.call('HMGET', c, unpack(counters))) do
    if text then counts[#counts + 1] = counters[k]; counts[#counts + 1] = text end
  end
end
local largest = math.huge -- of the bodies
for k = 2, #counts, 2 do
  if counts[k - 1] == 'largest' then largest = tonumber(counts[k]) or largest end
  if #counts[k] > 32 then counts[k] = string.sub(counts[k], 1, 32) end -- a damaged one
end
local inflight, lanes, oldest, ids = 0, {}, now, {}
for _, e in ipairs(epochs) do inflight = inflight + redis.call('ZCARD', base .. ':fl:' .. e) end
for t = 0, 3 do
  local ring = base .. ':ring:' .. t
  lanes[t + 1] = redis.call('LLEN', ring)
  if lanes[t + 1] > 0 then
    for _, seat in ipairs(redis.call('LRANGE', ring, 0, 3)) do
      local kind = string.byte(seat)
      if kind and kind >= 52 and kind <= 55 then -- '4' to '7', a tenant: its lane next in turn
        seat = redis.pcall('LINDEX', base .. ':tr:' .. kind - 52 .. ':' .. string.sub(seat, 13), 0)
        if type(seat) ~= 'string' then seat = '' end
      end
      local lane = base .. ':q:' .. string.sub(seat, 1, 1) .. ':' .. string.sub(seat, 13)
      local id = redis.pcall('LINDEX', lane, 0)
      if type(id) == 'string' then ids[#ids + 1] = id end
    end
  end
end
local function look(body)
  if body then oldest = math.min(oldest, tonumber(string.sub(body, 3, 13), 16) or oldest) end
end
if ids[1] and largest <= 65536 then -- all of them are small
  for _, body in ipairs(redis.call('HMGET', j, unpack(ids))) do look(body) end
else
  for _, id in ipairs(ids) do -- unless absurdly large
    if redis.call('HSTRLEN', j, id) <= 16777385 then look(redis.call('HGET', j, id)) end
  end
end
local delayed, until_then = redis.call('ZCARD', base .. ':dl'), 0
if delayed > 0 then
  local due = redis.call('ZRANGE', base .. ':dl', 0, 0, 'WITHSCORES')
  oldest = math.min(oldest, math.max(tonumber(due[2]), 0))
  until_then = redis.call('ZCOUNT', base .. ':dl', now + until_release / 2, '+inf')
end
local aside, untold, tasks, held = 0, 0, {}, {}
if redis.call('EXISTS', base .. ':ua', base .. ':ht', base .. ':fo', base .. ':bd') > 0 then
  -- uses: observe_rare
end
local last = redis.call('XREVRANGE', base .. ':cmd', '+', '-', 'COUNT', 1)
return {now, counts, holder, redis.call('HLEN', j), delayed, inflight,
  redis.call('ZCARD', base .. ':dead'), lanes, now - oldest, #to_recover, #draining,
  redis.call('HGETALL', base .. ':ck'), last[1] and last[1][1] or '0-0', aside, tasks, untold,
  until_then, held}
