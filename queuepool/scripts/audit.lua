#!lua flags=allow-oom
-- audit: look at a bounded part of a partition for what should be impossible; repair and report it.
-- KEYS[1] base; derived: j c o dl dg:<group> ua er dead dr rec fl:<epochs> ring:<0-3> q:<tier>:<group> cx
-- ARGV    cursor ('0' to begin), repair (1) or only report (0)
-- Returns {next cursor ('0' when the round is complete), [finding, count ...], jobs by the law of
--         conservation minus jobs stored}. Findings: unseated (a lane with jobs in no ring), orphan (a job in no
--         structure), hollow (an id without a body). Looks at 200 jobs, at rings of up to 1,000 seats, and into
--         lanes of up to 1,000 ids. A repair that ends a round makes r0-r3 obey the law again, as the lanes
--         tell; among marks of cancelled jobs by looking at up to 10,000 ids. A repair also indexes the delayed
--         jobs that it looks at by their group, as versions before did not.
local base, repair = KEYS[1], ARGV[2] == '1'
local j, c, dl, dead = base .. ':j', base .. ':c', base .. ':dl', base .. ':dead'
-- uses: clock, unaside, group_of, tier_of
local books = redis.call('LRANGE', base .. ':rec', 0, 99)
for _, e in ipairs(redis.call('HKEYS', base .. ':dr')) do books[#books + 1] = e end
local owner = redis.call('HMGET', base .. ':o', 'nonce', 'epoch') -- one that left has its book in rec or dr
if owner[1] and owner[1] ~= '' then books[#books + 1] = owner[2] end
local law = redis.call('ZCARD', dl) + redis.call('ZCARD', dead) - redis.call('HLEN', j)
for _, e in ipairs(books) do law = law + redis.call('ZCARD', base .. ':fl:' .. e) end
local ready, seated, complete = {}, {}, true
for t = 0, 3 do
  ready[t] = tonumber(redis.call('HGET', c, 'r' .. t) or 0)
  law = law + ready[t]
  complete = complete and redis.call('LLEN', base .. ':ring:' .. t) <= 1000
  for _, seat in ipairs(redis.call('LRANGE', base .. ':ring:' .. t, 0, 999)) do
    seated[string.sub(seat, 1, 1) .. ':' .. string.sub(seat, 13)] = true
  end
end
local unseated, seats, lost, late, hollow, marks = 0, {}, {}, {}, {}, redis.call('HLEN', base .. ':cx')
for _, k in ipairs({'ua', 'er'}) do redis.call('HLEN', base .. ':' .. k) end
local page = redis.call('HSCAN', j, ARGV[1], 'COUNT', 200)
for i = 1, #page[2], 2 do
  local id, body = page[2][i], page[2][i + 1]
  local delayed = redis.call('ZSCORE', dl, id)
  local placed = delayed or redis.call('ZSCORE', dead, id)
  if delayed and repair then
    late[#late + 1] = {id = id, group = group_of(body)}
    redis.call('SCARD', base .. ':dg:' .. late[#late].group)
  end
  for _, e in ipairs(books) do placed = placed or redis.call('ZSCORE', base .. ':fl:' .. e, id) end
  if not placed then
    local tier, group = tier_of(body), group_of(body)
    local name = tier .. ':' .. group
    local size = redis.call('LLEN', base .. ':q:' .. name)
    if size == 0 or size <= 1000 and not redis.call('LPOS', base .. ':q:' .. name, id) then
      lost[#lost + 1] = {id = id, name = name}
    end
    if complete and not seated[name] and (size > 0 or repair) then -- a seat without a lane is as good as a new one
      if size > 0 then unseated = unseated + 1 end
      seats[#seats + 1] = {tier = tier, group = group}
      seated[name] = true
    end
  end
end
for _, key in ipairs(ARGV[1] == '0' and {dl, dead} or {}) do
  for _, id in ipairs(redis.call('ZRANGE', key, 0, 99)) do
    if redis.call('HEXISTS', j, id) == 0 then hollow[#hollow + 1] = {key, id} end
  end
end
local stand, missing = {[0] = 0, 0, 0, 0}, #hollow - law -- jobs in the lanes of each tier; ready jobs not counted
if repair and page[1] == '0' and missing ~= 0 then
  local left = marks > 0 and 10000 or 0
  for name in pairs(seated) do
    local t, size = tonumber(string.sub(name, 1, 1)), redis.call('LLEN', base .. ':q:' .. name)
    stand[t] = stand[t] + size
    if size > 0 and size <= math.min(left, 1000) then
      left = left - size
      for _, mark in ipairs(redis.call('HMGET', base .. ':cx', unpack(redis.call('LRANGE', base .. ':q:' .. name, 0, -1)))) do
        if mark then stand[t] = stand[t] - 1 end
      end
    end
  end
  for _, job in ipairs(lost) do
    local t = tonumber(string.sub(job.name, 1, 1))
    stand[t] = stand[t] + 1
  end
end
if repair then -- from here on, writes
  for _, job in ipairs(late) do redis.call('SADD', base .. ':dg:' .. job.group, job.id) end
  for _, job in ipairs(lost) do redis.call('RPUSH', base .. ':q:' .. job.name, job.id) end
  for _, seat in ipairs(seats) do
    redis.call('RPUSH', base .. ':ring:' .. seat.tier, seat.tier .. string.format('%011x', now) .. seat.group)
  end
  for _, ghost in ipairs(hollow) do
    local key, id = unpack(ghost)
    redis.call('ZREM', key, id)
    unaside(id)
  end
  for t = 0, page[1] == '0' and missing ~= 0 and 3 or -1 do -- no further than the lanes bear out: marks stand there, too
    local gap = stand[t] - ready[t]
    local step = missing > 0 and math.max(0, math.min(missing, gap)) or math.min(0, math.max(missing, gap))
    missing = missing - step
    if step ~= 0 then redis.call('HINCRBY', c, 'r' .. t, step) end
  end
end
return {page[1], {'unseated', unseated, 'orphan', #lost, 'hollow', #hollow}, law}
