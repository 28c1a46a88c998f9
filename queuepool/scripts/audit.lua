#!lua flags=allow-oom
-- audit: look at a bounded part of a partition for what should be impossible; repair and report it.
-- KEYS[1] base; derived: j c o dl dead dr rec fl:<epochs> ring:<0-3> q:<tier>:<group> cx
-- ARGV    cursor ('0' to begin), repair (1) or only report (0)
-- Returns {next cursor ('0' when the round is complete), [finding, count ...], jobs by the law of
--         conservation minus jobs stored}. Findings: unseated (a lane with jobs in no ring), orphan (a job in no
--         structure), hollow (an id without a body). Looks at 200 jobs and at rings of up to 1,000 seats.
local base, repair, rebuilt = KEYS[1], ARGV[2] == '1', {}
local j, c, dl, dead = base .. ':j', base .. ':c', base .. ':dl', base .. ':dead'
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local books = redis.call('LRANGE', base .. ':rec', 0, 99)
for _, e in ipairs(redis.call('HKEYS', base .. ':dr')) do books[#books + 1] = e end
local owner = redis.call('HMGET', base .. ':o', 'nonce', 'epoch') -- one that left has its book in rec or dr
if owner[1] and owner[1] ~= '' then books[#books + 1] = owner[2] end
local law = redis.call('ZCARD', dl) + redis.call('ZCARD', dead) - redis.call('HLEN', j)
for _, e in ipairs(books) do law = law + redis.call('ZCARD', base .. ':fl:' .. e) end
local seated, complete = {}, true
for t = 0, 3 do
  law = law + (redis.call('HGET', c, 'r' .. t) or 0)
  complete = complete and redis.call('LLEN', base .. ':ring:' .. t) <= 1000
  for _, seat in ipairs(redis.call('LRANGE', base .. ':ring:' .. t, 0, 999)) do
    seated[string.sub(seat, 1, 1) .. ':' .. string.sub(seat, 13)] = true
  end
end
local found = {unseated = 0, orphan = 0, hollow = 0}
local page = redis.call('HSCAN', j, ARGV[1], 'COUNT', 200)
for i = 1, #page[2], 2 do
  local id, body = page[2][i], page[2][i + 1]
  local placed = redis.call('ZSCORE', dl, id) or redis.call('ZSCORE', dead, id)
  for _, e in ipairs(books) do placed = placed or redis.call('ZSCORE', base .. ':fl:' .. e, id) end
  if not placed then
    local tier, group = string.match(body, '^.([0-3])') or '2', string.sub(body, 19, 18 + (tonumber(string.sub(body, 17, 18), 16) or 0))
    local lane, name = base .. ':q:' .. tier .. ':' .. group, tier .. ':' .. group
    local size = rebuilt[name] and 0 or redis.call('LLEN', lane)
    if size == 0 then
      found.orphan = found.orphan + 1
      if repair then -- a seat without a lane, if there is one, is as good as a new one
        redis.call('RPUSH', lane, id)
        rebuilt[name] = true
      end
    elseif complete and not seated[name] then
      found.unseated = found.unseated + 1
    end
    if complete and not seated[name] and (size > 0 or repair) then
      if repair then redis.call('RPUSH', base .. ':ring:' .. tier, tier .. string.format('%011x', now) .. group) end
      seated[name] = true
    end
  end
end
for _, key in ipairs(ARGV[1] == '0' and {dl, dead} or {}) do
  for _, id in ipairs(redis.call('ZRANGE', key, 0, 99)) do
    if redis.call('HEXISTS', j, id) == 0 then
      found.hollow = found.hollow + 1
      if repair then redis.call('ZREM', key, id) end
    end
  end
end
return {page[1], {'unseated', found.unseated, 'orphan', found.orphan, 'hollow', found.hollow}, law}
