#!lua flags=allow-oom
-- claim: move up to `limit` ready jobs into the in-flight book of the owner's life.
-- KEYS[1] base; derived: o c j at cr cx fl:<epoch> ring:<0-3> q:<tier>:<group>
-- ARGV    nonce, epoch, limit (1-200), starting (how many of them start at once), promote after ms
--         (0: never), weight of tier 0 .. 3 (all 0: strict order), bytes that the bodies may have
--         together
-- Returns {now ms, ids, bodies, failed attempts, crashes, ids taken from lanes}; attempts and
--         crashes are empty when no job has any; taken counts marks of cancelled jobs as well, and
--         is the limit when the bytes ended the claim, so that less than the limit means that
--         nothing is ready; or {FENCED, current epoch}.
-- A tier's share follows its weight, unused share goes on; lanes of a tier take turns, and two in a
-- row when at most 16 of their jobs are left, so that small groups are through soon. Booked under
-- the start ms (plus order) when it starts now, or waited in a memory that died before; under a
-- small claim sequence when it waits in memory, and when it has a crash. Jobs whose bodies do not
-- fit into the bytes stay, as if fewer had been asked for; one job is taken whatever its size.
-- Sizes are looked at only when as many of the largest body (`largest` of c) would not fit. One
-- script: a job in both places runs twice, in neither it is lost. O(limit), whatever waits.
local redis, ARGV, type, base = redis, ARGV, type, KEYS[1] -- locals are faster
local limit, starting = tonumber(ARGV[3]), tonumber(ARGV[4])
local age, budget = tonumber(ARGV[5]), tonumber(ARGV[10])
local o, c, book = base .. ':o', base .. ':c', base .. ':fl:' .. ARGV[2]
-- uses: fence, clock
local rings, lanes, active, sum = {}, {}, {}, 0
for t = 0, 3 do
  rings[t] = base .. ':ring:' .. t
  lanes[t] = redis.call('LRANGE', rings[t], 0, limit - 1)
  if #lanes[t] > 0 then active[#active + 1] = t; sum = sum + ARGV[6 + t] end
end

local quota, served, planned
-- uses: note_foreign, visit
local function plan(n)
  quota, served, planned = {}, {}, 0
  if #active > 1 and sum > 0 then
    -- uses: quotas
    quota = quotas(n)
  end
  for _, t in ipairs(active) do served[t] = 0; visit(t, math.min(n - planned, quota[t] or n), n) end
  for _, t in ipairs(active) do if planned < n then visit(t, n - planned, n) end end
end
plan(limit)
local largest, full = tonumber(redis.call('HGET', c, 'largest') or nil), false
-- As if fewer had been asked for, until they fit; one always does
if not largest or not (planned * largest <= budget) then
  -- uses: weigh
  local bytes = 0
  repeat
    if bytes > 0 then
      plan(math.max(1, math.floor(planned * math.min(0.75, budget / bytes))))
      full = true
    end
    bytes = 0
    for _, t in ipairs(active) do
      for i = 1, served[t] do bytes = bytes + weigh(lanes[t][i], lanes[t][i].take) end
    end
  until bytes <= budget or planned <= 1
end
redis.call('ZCARD', book)
redis.call('HLEN', base .. ':j')
-- seldom; EXISTS looks at no type
local odd = redis.call('EXISTS', base .. ':at', base .. ':cr', base .. ':cx') > 0
  and redis.call('HLEN', base .. ':cx') >= 0
  and redis.call('HLEN', base .. ':at') + redis.call('HLEN', base .. ':cr') > 0

-- uses: make_way
local more = false -- whether seats may follow behind those looked at
-- Now come writes
local ids, count, taken, again, cut, back = {}, 0, {}, {}, {}, {}
local stamp = string.format('%011x', now)
for _, t in ipairs(active) do
  local most
  for i = 1, served[t] do
    local lane = lanes[t][i]
    local home = string.sub(lane.seat, 1, 1)
    if lane.take > 0 then
      local before = count
      for _, id in ipairs(redis.call('LPOP', lane.key, lane.take) or {}) do
        count = count + 1
        ids[count] = id
      end
      lane.take = count - before -- less where the lane has two seats
      taken[home] = (taken[home] or 0) + lane.take
    end
    if lane.size > lane.take then
      most = most or lane.take
      local rest = lane.size - lane.take
      -- Whose turn the end of the share cut short is next
      local list = lane.take < most and cut or back
      -- About to end: two turns in a row
      if rest <= 16 and rest % 2 == 1 and lane.take % 2 == 1 then list = again end
      list[home] = list[home] or {}
      list[home][#list[home] + 1] = home .. stamp .. string.sub(lane.seat, 13)
    end
  end
  redis.call('LPOP', rings[t], served[t])
  more = more or served[t] >= limit
  if quota['k' .. t] then redis.call('HSET', c, 'k' .. t, quota['k' .. t]) end
end
-- uses: reseat

if count == 0 then return {now, {}, {}, {}, {}, more and limit or 0} end
local bodies = redis.call('HMGET', base .. ':j', unpack(ids))
local attempts, crashes, kept_attempts, kept_crashes = {}, {}, {}, {}
local bytes = 0
for k = 1, count do bytes = bytes + #(bodies[k] or '') + #ids[k] end
if bytes > budget + 64 * count then
  -- uses: shorten
end
local begun = time[1] * 1000 + time[2] / 1000 -- ms, to the us
local alive, texts, n, scores, waiting = {}, {}, 0, {}, 0
if odd then
  attempts = redis.call('HMGET', base .. ':at', unpack(ids))
  crashes = redis.call('HMGET', base .. ':cr', unpack(ids))
end
for k, id in ipairs(ids) do
  local body = bodies[k]
  if body then
    n = n + 1
    alive[n], texts[n] = id, body
    if odd then -- what is too long for a number is none
      kept_attempts[n] = attempts[k] and string.sub(attempts[k], 1, 20)
      kept_crashes[n] = crashes[k] and string.sub(crashes[k], 1, 20)
    end
    if crashes[k] == '0' or n <= starting and not crashes[k] then
      -- In steps of half a us, less than a job takes here: the next call's are above
      scores[n] = begun + n / 2048
    else
      waiting = waiting + 1
      scores[n] = -waiting
    end
  else
    -- Cancelled while it waited: its place in the lane ends here
    redis.call('HDEL', base .. ':cx', id)
    -- uses: home_of
    local home = home_of(k)
    taken[home] = taken[home] - 1 -- it left the count of ready jobs when it was cancelled
  end
end
if n > 0 then
  local last, entries = waiting > 0 and redis.call('HINCRBY', o, 'seq', waiting) - waiting, {}
  for k = 1, n do -- the last ones first: a small book is searched from its lowest score on
    local score = scores[n + 1 - k]
    entries[2 * k - 1], entries[2 * k] = score < 0 and last - score or score, alive[n + 1 - k]
  end
  redis.call('ZADD', book, unpack(entries))
  for home, gone in pairs(taken) do -- not -gone: Redis 7.0 reads no -0
    -- No number
    if type(redis.pcall('HINCRBY', c, 'r' .. home, 0 - gone)) == 'table' then
      redis.call('HSET', c, 'r' .. home, 0)
    end
  end
end
-- Not by our scripts: trust it no more
if n > 0 and largest and #texts[n] > largest then redis.call('HDEL', c, 'largest') end
return {now, alive, texts, kept_attempts, kept_crashes, (full or more) and limit or count}
