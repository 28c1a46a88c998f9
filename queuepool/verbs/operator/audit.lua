#!lua flags=allow-oom
-- audit: check a bounded part of a partition for inconsistencies; repair and report them.
-- ROLES   consumer ops-read ops
-- KEYS[1] base; derived: j c h o dl du dg:<group> ua ht at cr er pr cn dead dr rec fl:<epochs>
--         ring:<0-3> tr:<0-3>:<tenant> tn:<tenant> mt q:<tier>:<group> cx wk cmd ck dn:<0|1>
--         g:<group> mg u uk ex lm ll gt ga gk ls gr:<tier>:<gate> gq:<tier>:<gate>~<group>
--         gg:<group> pl bd fo mv mn mr
-- ARGV    cursor ('0' to begin), repair (1) or only report (0)
-- Returns {next cursor ('0' when the round is complete), [finding, count ...], jobs that should
--         exist according to the counters minus jobs stored}. Findings: unseated (a lane with jobs,
--         or a tenant with lanes, in no ring), orphan (a job in no structure), hollow (an id
--         without a body, delayed, dead or in flight), foreign (a key with a value of the wrong
--         type, which blocks everything else; a repair deletes it), miscounted (a counter that is
--         not a number or not ours, or bytes that differ from those of the bodies), stray (a record
--         of a job that does not exist, or of a gate where nothing waits). Checks 200 jobs, rings
--         of up to 1,000 seats, and lanes of up to 1,000 ids. A repair that ends a round corrects
--         r0-r3 according to the lanes; among marks of cancelled jobs it checks up to 10,000 ids. A
--         repair also indexes the delayed jobs that it checks by group, which earlier versions did
--         not.
local base, repair = KEYS[1], ARGV[2] == '1'
local j, c, dl, dead = base .. ':j', base .. ':c', base .. ':dl', base .. ':dead'
local mg = base .. ':mg'
local cursor, bytes, dead_bytes = string.match(ARGV[1], '^(%d+):(%d+):(%d+)$')
-- uses: types
-- What it blocked can be checked from now on
if freed > 0 then return {'0:0:0', {'foreign', wrong}, 0} end
if wrong > 0 and not repair then return {'0', {'foreign', wrong}, 0} end
-- uses: clock, unaside, group_of, tier_of, lane_key, give_seat, whole, ours, is_state, list_managed
-- uses: seek_place
cursor, bytes, dead_bytes = cursor or '0', tonumber(bytes or 0), tonumber(dead_bytes or 0)
-- uses: who_owns, epochs_in_flight, audit/parked
local law = redis.call('ZCARD', dl) + redis.call('ZCARD', dead) - redis.call('HLEN', j)
law = law + whole(redis.call('HGET', c, 'held')) + whole(redis.call('HGET', c, 'capped'))
law = law + whole(redis.call('HGET', c, 'parked'))
for _, e in ipairs(epochs) do law = law + (ours('ZCARD', base .. ':fl:' .. e) or 0) end
local ready = {}
for t = 0, 3 do
  ready[t] = whole(redis.call('HGET', c, 'r' .. t))
  law = law + ready[t]
end
-- uses: audit/seats
local unseated, seats, lost, late, hollow, unlisted = 0, {}, {}, {}, {}, {}
local looked = {}
local page = redis.call('HSCAN', j, cursor, 'COUNT', 200)
for i = 1, #page[2], 2 do
  local id, body = page[2][i], page[2][i + 1]
  local group = group_of(body)
  if not looked[group] then
    looked[group] = true
    local state, left = unpack(ours('HMGET', base .. ':g:' .. group, 'state', 'left') or {})
    if is_state(state) and whole(left) > 0 and redis.call('HEXISTS', mg, group) == 0 then
      unlisted[#unlisted + 1] = group
    end
    ours('SCARD', base .. ':dg:' .. group)
  end
  local delayed, died = redis.call('ZSCORE', dl, id), redis.call('ZSCORE', dead, id)
  local placed = delayed or died
  bytes, dead_bytes = bytes + #body, dead_bytes + (died and #body or 0)
  if delayed and repair then late[#late + 1] = {id = id, group = group} end
  for _, e in ipairs(epochs) do placed = placed or ours('ZSCORE', base .. ':fl:' .. e, id) end
  local lane = {tier = tier_of(body), group = group}
  if not placed and not is_parked(id, lane) then
    local key = lane_key(lane)
    local size = ours('LLEN', key) or 0
    if size == 0 or size <= 1000 and not redis.call('LPOS', key, id) then
      lost[#lost + 1] = {id = id, lane = lane}
    end
    -- A seat without a lane can be reused
    local out = size > 0 and redis.call('HGET', mg, group) == '0'
      and ours('HGET', base .. ':g:' .. group, 'o' .. lane.tier)
    if redis.call('HEXISTS', mg, group) == 1 then seek_place(lane) end
    local known = not tenant_of(group) or read_tenant(lane.ring or lane.tier, tenant_of(group))
    if complete and known and not seated[key] and not out and (size > 0 or repair) then
      if size > 0 then unseated = unseated + 1 end
      seats[#seats + 1] = lane
      seated[key] = lane
    end
  end
end
local zsets = {dl, dead}
for _, e in ipairs(epochs) do zsets[#zsets + 1] = base .. ':fl:' .. e end
for _, key in ipairs(cursor == '0' and zsets or {}) do
  for _, id in ipairs(ours('ZRANGE', key, 0, 499) or {}) do
    if redis.call('HEXISTS', j, id) == 0 then hollow[#hollow + 1] = {key, id} end
  end
end
local missing_there = 0
-- uses: strays, miscounted, audit/count_parked, audit/managed
miscounted = miscounted + #unlisted + #unnoted
-- uses: audit/standing
-- uses: only_wrong_types
if repair then -- from here on, writes
  -- uses: make_way, recount, tune_tenant
  put_at_gates()
  recount_parked()
  for _, job in ipairs(late) do redis.call('SADD', base .. ':dg:' .. job.group, job.id) end
  for _, job in ipairs(lost) do redis.call('RPUSH', lane_key(job.lane), job.id) end
  for _, fields in ipairs(amended) do redis.call('HSET', unpack(fields)) end
  for tenant in pairs(#amended > 0 and shut or {}) do tune_tenant(tenant) end
  for _, one in ipairs(absent) do
    redis.call('RPUSH', base .. ':ring:' .. one.tier,
      one.tier + 4 .. string.format('%011x', now) .. one.tenant)
  end
  for _, lane in ipairs(seats) do
    give_seat(lane)
    redis.call('HDEL', base .. ':g:' .. lane.group, 'o' .. lane.tier)
  end
  for _, group in ipairs(unlisted) do list_managed(group) end
  for _, fields in ipairs(right) do
    redis.call('HSET', base .. ':g:' .. fields[1], unpack(fields, 2))
  end
  for group, room in pairs(rooms) do redis.call('HSET', mg, group, room) end
  if recounted then redis.call('HSET', c, 'held', sums.held, 'capped', sums.capped) end
  for _, ghost in ipairs(hollow) do
    local key, id = unpack(ghost)
    redis.call('ZREM', key, id)
    unaside(id)
  end
  -- Only as far as the lanes confirm it: they also contain marks
  for t = 0, page[1] == '0' and missing ~= 0 and 3 or -1 do
    local gap = stand[t] - ready[t]
    local step = missing > 0 and math.max(0, math.min(missing, gap))
      or math.min(0, math.max(missing, gap))
    missing = missing - step
    if step ~= 0 then redis.call('HINCRBY', c, 'r' .. t, step) end
  end
end
local last = page[1] == '0' and '0' or page[1] .. string.format(':%.0f:%.0f', bytes, dead_bytes)
for _ in pairs(foreign or {}) do wrong = wrong + 1 end
return {last, {'unseated', unseated + #absent + #unseated_there + #unlisted_there,
  'orphan', #lost + #adrift, 'hollow', #hollow, 'foreign', wrong, 'miscounted', miscounted,
  'stray', #strays}, law}
