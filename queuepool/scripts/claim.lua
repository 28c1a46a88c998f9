#!lua flags=allow-oom
-- claim: move up to `limit` ready jobs into the in-flight book of the owner's life.
-- KEYS[1] base; derived: o c j at cr cx fl:<epoch> ring:<0-3> q:<tier>:<group>
-- ARGV    nonce, epoch, limit (1-200), starting (how many of them start at once), promote after ms
--         (0: never), weight of tier 0 .. 3 (all 0: strict order)
-- Returns {now ms, ids, bodies, failed attempts, crashes, ids taken from lanes}; attempts and crashes
--         are empty when no job has any; taken counts marks of cancelled jobs as well, so that less than
--         the limit means that nothing is ready; or {FENCED, current epoch}.
-- A tier's share follows its weight, unused share goes on; lanes of a tier take turns, and two in a row
-- when at most 16 of their jobs are left, so that small groups are through soon. Booked under
-- the start ms (plus order) when it starts now, or waited in a memory that died before; under a small
-- claim sequence when it waits in memory, and when it has a crash.
-- One script: a job in both places runs twice, in neither it is lost. O(limit), whatever waits.
local base, limit, starting, age = KEYS[1], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local o, c, book = base .. ':o', base .. ':c', base .. ':fl:' .. ARGV[2]
-- uses: fence, clock
local rings, lanes, active, sum = {}, {}, {}, 0
for t = 0, 3 do
  rings[t] = base .. ':ring:' .. t
  lanes[t] = redis.call('LRANGE', rings[t], 0, limit - 1)
  if #lanes[t] > 0 then active[#active + 1] = t; sum = sum + ARGV[6 + t] end
end

local quota = {} -- smooth weighted round-robin: whole rounds at once, the rest by stored credit
if #active > 1 and sum > 0 then
  local credit, rounds = redis.call('HMGET', c, 'k0', 'k1', 'k2', 'k3'), math.floor(limit / sum)
  for _, t in ipairs(active) do quota[t] = rounds * ARGV[6 + t]; credit[t + 1] = tonumber(credit[t + 1] or 0) end
  for _ = 1, limit - rounds * sum do
    local best
    for _, t in ipairs(active) do
      credit[t + 1] = credit[t + 1] + ARGV[6 + t]
      if not best or credit[t + 1] > credit[best + 1] then best = t end
    end
    credit[best + 1] = credit[best + 1] - sum
    quota[best] = quota[best] + 1
  end
  for _, t in ipairs(active) do quota['k' .. t] = credit[t + 1] end
end

local left = limit
local turns = limit > starting and 8 or 32 -- looking ahead means short jobs: longer turns cost less, and nobody waits
local function plan(t, share) -- whose turn, and how many of each: only reads
  local seats = lanes[t]
  local quantum, moved = math.ceil(share / math.min(#seats, turns)), true
  while share > 0 and moved do
    moved = false
    for i = 1, #seats do
      local lane = seats[i]
      if type(lane) == 'string' then
        local key = base .. ':q:' .. string.sub(lane, 1, 1) .. ':' .. string.sub(lane, 13)
        lane = {key = key, seat = lane, size = redis.call('LLEN', key), take = 0}
        seats[i] = lane
      end
      local n = math.min(quantum, lane.size - lane.take, share)
      if n > 0 then lane.take = lane.take + n; share = share - n; left = left - n; moved = true end
      if share == 0 then break end
    end
  end
end
for _, t in ipairs(active) do plan(t, math.min(left, quota[t] or left)) end
for _, t in ipairs(active) do if left > 0 then plan(t, left) end end
redis.call('ZCARD', book)
for _, k in ipairs({'c', 'j'}) do redis.call('HLEN', base .. ':' .. k) end
local odd = redis.call('EXISTS', base .. ':at', base .. ':cr', base .. ':cx') > 0 -- seldom; EXISTS looks at no type
  and redis.call('HLEN', base .. ':cx') >= 0 and redis.call('HLEN', base .. ':at') + redis.call('HLEN', base .. ':cr') > 0

local ids, count, tier_of, again, cut, back, stamp = {}, 0, {}, {}, {}, {}, string.format('%011x', now) -- now come writes
for _, t in ipairs(active) do
  local served, most = 0, nil
  for _, lane in ipairs(lanes[t]) do
    if type(lane) == 'string' then break end
    served = served + 1
    local home = string.sub(lane.seat, 1, 1)
    if lane.take > 0 then
      for _, id in ipairs(redis.call('LPOP', lane.key, lane.take) or {}) do count = count + 1; ids[count], tier_of[count] = id, home end
    end
    if lane.size > lane.take then
      most = most or lane.take
      local rest = lane.size - lane.take
      local list = lane.take < most and cut or back -- whose turn the end of the share cut short is next
      if rest <= 16 and rest % 2 == 1 and lane.take % 2 == 1 then list = again end -- about to end: two turns in a row
      list[home] = list[home] or {}
      list[home][#list[home] + 1] = home .. stamp .. string.sub(lane.seat, 13)
    end
  end
  redis.call('LPOP', rings[t], served)
  if quota['k' .. t] then redis.call('HSET', c, 'k' .. t, quota['k' .. t]) end
end
for home, seats in pairs(cut) do redis.call('RPUSH', rings[tonumber(home)], unpack(seats)) end
for home, seats in pairs(back) do redis.call('RPUSH', rings[tonumber(home)], unpack(seats)) end
for home, seats in pairs(again) do
  for k = #seats, 1, -1 do redis.call('LPUSH', rings[tonumber(home)], seats[k]) end
end
for t = 1, age > 0 and #active > 1 and 3 or 0 do -- a lane that waits too long has its next turn a tier up
  local seat = redis.call('LINDEX', rings[t], 0)
  if seat and now - tonumber(string.sub(seat, 2, 12), 16) > age then
    redis.call('RPUSH', rings[t - 1], redis.call('LPOP', rings[t]))
  end
end

if count == 0 then return {now, {}, {}, {}, {}, 0} end
local bodies, attempts, crashes, kept_attempts, kept_crashes = redis.call('HMGET', base .. ':j', unpack(ids)), {}, {}, {}, {}
local begun = time[1] * 1000 + time[2] / 1000 -- ms, to the us
local alive, texts, n, taken, scores, waiting = {}, {}, 0, {}, {}, 0
if odd then attempts, crashes = redis.call('HMGET', base .. ':at', unpack(ids)), redis.call('HMGET', base .. ':cr', unpack(ids)) end
for k, id in ipairs(ids) do
  if bodies[k] then
    n = n + 1
    alive[n], texts[n] = id, bodies[k]
    if odd then kept_attempts[n], kept_crashes[n] = attempts[k], crashes[k] end
    taken[tier_of[k]] = (taken[tier_of[k]] or 0) + 1
    if crashes[k] == '0' or n <= starting and not crashes[k] then
      scores[n] = begun + n / 2048 -- in steps of half a us, less than a job takes here: the next call's are above
    else
      waiting = waiting + 1
      scores[n] = -waiting
    end
  else
    redis.call('HDEL', base .. ':cx', id) -- cancelled while it waited: its place in the lane ends here
  end
end
if n > 0 then
  local last, entries = waiting > 0 and redis.call('HINCRBY', o, 'seq', waiting) - waiting, {}
  for k = 1, n do -- the last ones first: a small book is searched from its lowest score on
    local score = scores[n + 1 - k]
    entries[2 * k - 1], entries[2 * k] = score < 0 and last - score or score, alive[n + 1 - k]
  end
  redis.call('ZADD', book, unpack(entries))
  for home, gone in pairs(taken) do redis.call('HINCRBY', c, 'r' .. home, -gone) end
end
return {now, alive, texts, kept_attempts, kept_crashes, count}
