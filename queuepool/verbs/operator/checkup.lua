#!lua flags=no-writes
-- checkup: what `queuepool doctor` looks at in a partition, besides what observe tells.
-- ROLES   coordinator ops-read ops
-- KEYS[1] base; derived: o dr rec mg mt j fl:<epochs> g:<group> tn:<tenant> ring:<0-3>
--         tr:<0-3>:<tenant> q:<tier>:<group>
-- ARGV    seats to look at in each tier (1-100)
-- Returns {now ms, [id and start ms of the job that has run longest; empty if none runs], lanes
--         looked at, [group, waiting jobs, of the two largest of them], [the managed group held
--         longest, since ms], [the tenant held longest, since ms], [slot (3 hex digits), group,
--         of up to 10 of the jobs that run, others in each call]}. It looks at the lanes next in
--         turn, of a tenant at its first, and at about 100 managed groups and 100 tenants. O(1).
local base, most = KEYS[1], tonumber(ARGV[1])
-- uses: clock, whole, who_owns, epochs_in_flight, group_of
local running, lanes, sizes, sample = {}, 0, {}, {}
for _, e in ipairs(epochs) do -- ids that wait in a consumer's memory have lower scores
  local found = redis.call('ZRANGEBYSCORE', base .. ':fl:' .. e, 1e12, '+inf', 'WITHSCORES',
    'LIMIT', 0, 1)
  if found[1] and (not running[1] or tonumber(found[2]) < running[2]) then
    running = {found[1], math.floor(tonumber(found[2]))}
  end
  local others = redis.call('ZCOUNT', base .. ':fl:' .. e, 1e12, '+inf') - 10
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', base .. ':fl:' .. e, 1e12, '+inf', 'LIMIT',
    others > 0 and now % (others + 1) or 0, 10 - #sample / 2)) do
    local body = redis.call('HGET', base .. ':j', id)
    local slot = type(body) == 'string' and string.match(body, '^.............(%x%x%x)')
    if slot then sample[#sample + 1], sample[#sample + 2] = slot, group_of(body) end
  end
end
for t = 0, 3 do
  for _, seat in ipairs(redis.call('LRANGE', base .. ':ring:' .. t, 0, most - 1)) do
    local tier, tenant = string.match(seat, '^([4-7])' .. string.rep('.', 11) .. '(.*)')
    if tier then -- its lane next in turn
      seat = redis.pcall('LINDEX', base .. ':tr:' .. tier - 4 .. ':' .. tenant, 0)
      if type(seat) ~= 'string' then seat = '' end
    end
    local group = string.sub(seat, 13)
    local jobs = redis.pcall('LLEN', base .. ':q:' .. string.sub(seat, 1, 1) .. ':' .. group)
    if type(jobs) == 'number' and jobs > 0 then
      lanes = lanes + 1
      sizes[group] = (sizes[group] or 0) + jobs
    end
  end
end
local function held_longest(listed, stem)
  local found = {}
  local page = redis.call('HSCAN', base .. listed, 0, 'COUNT', 100)[2]
  for i = 1, math.min(#page, 400), 2 do
    local since = redis.pcall('HGET', base .. stem .. page[i], 'hold')
    local ms = type(since) == 'string' and whole(since) or 0
    if ms > 0 and (not found[1] or ms < found[2]) then found = {page[i], ms} end
  end
  return found
end
local first, second
for group, jobs in pairs(sizes) do
  if not first or jobs > sizes[first] then
    first, second = group, first
  elseif not second or jobs > sizes[second] then
    second = group
  end
end
local largest = {first, sizes[first or ''], second, sizes[second or '']}
return {now, running, lanes, largest, held_longest(':mg', ':g:'), held_longest(':mt', ':tn:'),
  sample}
