#!lua flags=allow-oom
-- audit: look at a bounded part of a partition for what should be impossible; repair and report it.
-- ROLES   consumer ops-read ops
-- KEYS[1] base; derived: j c o dl dg:<group> ua at cr er pr cn dead dr rec fl:<epochs> ring:<0-3>
--         q:<tier>:<group> cx wk cmd ck dn:<0|1> g:<group>
-- ARGV    cursor ('0' to begin), repair (1) or only report (0)
-- Returns {next cursor ('0' when the round is complete), [finding, count ...], jobs by the law of
--         conservation minus jobs stored}. Findings: unseated (a lane with jobs in no ring), orphan
--         (a job in no structure), hollow (an id without a body, delayed, dead or in flight),
--         foreign (a key with a value of another type, which nothing can be done beside; a repair
--         deletes it), miscounted (a counter that is no number or none of ours, or bytes that are
--         not those of the bodies), stray (something noted of a job that is not there). Looks at
--         200 jobs, at rings of up to 1,000 seats, and into lanes of up to 1,000 ids. A repair that
--         ends a round makes r0-r3 obey the law again, as the lanes tell; among marks of cancelled
--         jobs by looking at up to 10,000 ids. A repair also indexes the delayed jobs that it looks
--         at by their group, as versions before did not.
local base, repair = KEYS[1], ARGV[2] == '1'
local j, c, dl, dead = base .. ':j', base .. ':c', base .. ':dl', base .. ':dead'
local cursor, bytes, dead_bytes = string.match(ARGV[1], '^(%d+):(%d+):(%d+)$')
-- uses: types
-- What is behind it can be looked at from now on
if freed > 0 then return {'0:0:0', {'foreign', wrong}, 0} end
if wrong > 0 and not repair then return {'0', {'foreign', wrong}, 0} end
-- uses: clock, unaside, group_of, tier_of, whole, add, ours
cursor, bytes, dead_bytes = cursor or '0', tonumber(bytes or 0), tonumber(dead_bytes or 0)
local books = redis.call('LRANGE', base .. ':rec', 0, 99)
for _, e in ipairs(redis.call('HKEYS', base .. ':dr')) do books[#books + 1] = e end
-- One that left has its book in rec or dr
local owner = redis.call('HMGET', base .. ':o', 'nonce', 'epoch')
if owner[1] and owner[1] ~= '' then books[#books + 1] = owner[2] or '0' end
local law = redis.call('ZCARD', dl) + redis.call('ZCARD', dead) - redis.call('HLEN', j)
for _, e in ipairs(books) do law = law + (ours('ZCARD', base .. ':fl:' .. e) or 0) end
local ready, seated, complete = {}, {}, true
for t = 0, 3 do
  ready[t] = whole(redis.call('HGET', c, 'r' .. t))
  law = law + ready[t]
  complete = complete and redis.call('LLEN', base .. ':ring:' .. t) <= 1000
  for _, seat in ipairs(redis.call('LRANGE', base .. ':ring:' .. t, 0, 999)) do
    if string.find(seat, '^[0-3]') then
      seated[string.sub(seat, 1, 1) .. ':' .. string.sub(seat, 13)] = true
    end
  end
end
local unseated, seats, lost, late, hollow = 0, {}, {}, {}, {}
redis.call('HLEN', base .. ':cx')
local looked = {}
local page = redis.call('HSCAN', j, cursor, 'COUNT', 200)
for i = 1, #page[2], 2 do
  local id, body = page[2][i], page[2][i + 1]
  local group = group_of(body)
  if not looked[group] then
    looked[group] = true
    ours('HLEN', base .. ':g:' .. group)
    ours('SCARD', base .. ':dg:' .. group)
  end
  local delayed, died = redis.call('ZSCORE', dl, id), redis.call('ZSCORE', dead, id)
  local placed = delayed or died
  bytes, dead_bytes = bytes + #body, dead_bytes + (died and #body or 0)
  if delayed and repair then late[#late + 1] = {id = id, group = group} end
  for _, e in ipairs(books) do placed = placed or ours('ZSCORE', base .. ':fl:' .. e, id) end
  if not placed then
    local tier = tier_of(body)
    local name = tier .. ':' .. group
    local size = ours('LLEN', base .. ':q:' .. name) or 0
    if size == 0 or size <= 1000 and not redis.call('LPOS', base .. ':q:' .. name, id) then
      lost[#lost + 1] = {id = id, name = name}
    end
    -- A seat without a lane is as good as a new one
    if complete and not seated[name] and (size > 0 or repair) then
      if size > 0 then unseated = unseated + 1 end
      seats[#seats + 1] = {tier = tier, group = group}
      seated[name] = true
    end
  end
end
local zsets = {dl, dead}
for _, e in ipairs(books) do zsets[#zsets + 1] = base .. ':fl:' .. e end
for _, key in ipairs(cursor == '0' and zsets or {}) do
  for _, id in ipairs(ours('ZRANGE', key, 0, 499) or {}) do
    if redis.call('HEXISTS', j, id) == 0 then hollow[#hollow + 1] = {key, id} end
  end
end
-- uses: strays, miscounted
-- Jobs in the lanes of each tier; ready jobs not counted
local stand, missing = {[0] = 0, 0, 0, 0}, #hollow - law
if repair and page[1] == '0' and missing ~= 0 then
  local left = 10000
  for name in pairs(seated) do
    local t, size = tonumber(string.sub(name, 1, 1)), ours('LLEN', base .. ':q:' .. name) or 0
    stand[t] = stand[t] + size
    if size > 0 and size <= math.min(left, 1000) then
      left = left - size
      for _, id in ipairs(redis.call('LRANGE', base .. ':q:' .. name, 0, -1)) do
        if redis.call('HEXISTS', j, id) == 0 then stand[t] = stand[t] - 1 end -- a mark
      end
    end
  end
  for _, job in ipairs(lost) do
    local t = tonumber(string.sub(job.name, 1, 1))
    stand[t] = stand[t] + 1
  end
end
if repair then -- from here on, writes
  -- uses: make_way, recount
  for _, job in ipairs(late) do redis.call('SADD', base .. ':dg:' .. job.group, job.id) end
  for _, job in ipairs(lost) do redis.call('RPUSH', base .. ':q:' .. job.name, job.id) end
  for _, seat in ipairs(seats) do
    local stamp = string.format('%011x', now)
    redis.call('RPUSH', base .. ':ring:' .. seat.tier, seat.tier .. stamp .. seat.group)
  end
  for _, ghost in ipairs(hollow) do
    local key, id = unpack(ghost)
    redis.call('ZREM', key, id)
    unaside(id)
  end
  -- No further than the lanes bear out: marks stand there, too
  for t = 0, page[1] == '0' and missing ~= 0 and 3 or -1 do
    local gap = stand[t] - ready[t]
    local step = missing > 0 and math.max(0, math.min(missing, gap))
      or math.min(0, math.max(missing, gap))
    missing = missing - step
    if step ~= 0 then add(c, 'r' .. t, step) end
  end
end
local last = page[1] == '0' and '0' or page[1] .. string.format(':%.0f:%.0f', bytes, dead_bytes)
for _ in pairs(foreign) do wrong = wrong + 1 end
return {last, {'unseated', unseated, 'orphan', #lost, 'hollow', #hollow, 'foreign', wrong,
  'miscounted', miscounted, 'stray', #strays}, law}
