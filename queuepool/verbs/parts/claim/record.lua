-- Jobs into the in-flight set; the marks of cancelled ones end here.
local begun = now + time[2] % 1000 / 1000 -- ms, to the us
local alive, texts, n, scores, waiting = {}, {}, 0, {}, 0
local none = {} -- four unused tables would cost as much as a server call
local attempts, crashes, kept_attempts, kept_crashes = none, none, none, none
if tried then
  kept_attempts, kept_crashes = {}, {}
  attempts = redis.call('HMGET', base .. ':at', unpack(ids))
  crashes = redis.call('HMGET', base .. ':cr', unpack(ids))
end
for k, id in ipairs(ids) do
  local body = bodies[k]
  if body then
    n = n + 1
    alive[n], texts[n] = id, body
    if tried then -- text too long for a number is none
      kept_attempts[n] = attempts[k] and string.sub(attempts[k], 1, 20)
      kept_crashes[n] = crashes[k] and string.sub(crashes[k], 1, 20)
    end
    if crashes[k] == '0' or n <= starting and not crashes[k] then
      -- In steps of half a us, less than a job takes here: those of the next call are higher.
      scores[n] = begun + n / 2048
    else
      waiting = waiting + 1
      scores[n] = -waiting
    end
  elseif body == false then
    redis.pcall('HDEL', base .. ':cx', id) -- cancelled while it waited: its mark ends here
    -- uses: claim/home_of
    local home = home_of(k)
    taken[home] = taken[home] - 1 -- it left the count of ready jobs when it was cancelled
  end
end
if n > 0 then
  local last = waiting > 0 and redis.call('HINCRBY', o, 'seq', waiting) - waiting
  local entries = {}
  for k = 1, n do -- the last ones first: a small set is searched from its lowest score
    local score = scores[n + 1 - k]
    entries[2 * k - 1], entries[2 * k] = score < 0 and last - score or score, alive[n + 1 - k]
  end
  redis.call('ZADD', in_flight, unpack(entries))
  if asks then
    -- uses: claim/begin
  end
  if seats.tenants then
    -- uses: claim/count_running
  end
end
if n > 0 or late or limited or held then
  if rooms then
    -- uses: claim/count_rooms
  end
  for home, gone in pairs(taken) do -- not -gone: Redis 7.0 rejects -0
    if type(redis.pcall('HINCRBY', c, 'r' .. home, 0 - gone)) == 'table' then
      redis.call('HSET', c, 'r' .. home, 0) -- it was not a number
    end
  end
end
if rooms then
  -- uses: tune
  for group, room in pairs(rooms) do
    if room.taken > 0 and tune(group, true) > 0 then more = true end
  end
end
if seats.bounds then
  -- uses: tune_tenant
  for tenant, room in pairs(seats.bounds) do
    if room.taken > 0 and tune_tenant(tenant, true) > 0 then more = true end
  end
end
