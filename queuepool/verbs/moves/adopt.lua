#!lua
-- adopt: take over jobs of a task group from another partition; none of them starts before `thaw`.
-- ROLES   ops
-- KEYS[1] base; derived: c j cx dl du dead at cr er ua ht u uk ex lm ll mg mv wk g:<group>
--         q:<0-3>:<group> dg:<group> ring:<0-3> tr:<0-3>:<tenant> tn:<tenant> mt tt:<tenant>
-- ARGV    version of the route, group, n, then n * (field, value) of its record there, m, then m *
--         (total, how many): how its other jobs ended; then the jobs as export returns them
-- Returns one character per job: 1 adopted, h it is here (this call was repeated), c another job
--         here has this id; or {MOVED, least version}. Totals count once until `thaw`. O(jobs).
local base, group, n = KEYS[1], ARGV[2], tonumber(ARGV[3])
-- uses: moves/current
local c, j, mg, g = base .. ':c', base .. ':j', base .. ':mg', base .. ':g:' .. group
-- uses: clock, check_hashes, ours, tune, is_state, manage, probe_tenant, add, is_of_group, tier_of
-- uses: delay, holder_of, raise_largest, newest_cut, forget_soon, wake, until_release, is_held
-- uses: stamp_of
check_hashes('c', 'j', 'cx', 'mg', 'at', 'cr', 'er', 'ua', 'ht', 'u', 'uk', 'ex', 'lm')
-- uses: probe_managed
local all_dead = redis.call('ZCARD', base .. ':dead') >= redis.call('HLEN', j)
redis.call('ZCARD', base .. ':du')
redis.call('SCARD', base .. ':mv')
redis.call('SCARD', base .. ':ll')
ours('SCARD', base .. ':dg:' .. group)
probe_tenant(group)
local record = ours('HMGET', g, 'state', 'arrived') or {}
local counted, arrived = is_state(record[1]), record[2]
local jobs = count_lanes(group, counted)
-- uses: make_way
local at, status, lanes = 4 + 2 * n, {}, {}
local largest = redis.call('HGET', c, 'largest') or all_dead and '0'
redis.call('HSET', g, 'moving', ARGV[1], 'closed', 1, unpack(ARGV, 4, at - 1))
redis.call('SADD', base .. ':mv', group)
local cut = newest_cut(redis.call('HGET', g, 'cancelled_at'))
if not counted then manage(group, jobs) end
local totals = tonumber(ARGV[at])
for k = at + 1, at + 2 * totals, 2 do
  if not arrived then
    add(g, ARGV[k], whole(ARGV[k + 1]))
    add(g, 'total', whole(ARGV[k + 1]))
  end
end
if totals > 0 then redis.call('HSET', g, 'arrived', ARGV[1]) end
local heaviest, newest = 0, now
-- uses: moves/settle_in
local i, last, ids, starts = at + 1 + 2 * totals, #ARGV, {}, {}
while i <= last do
  ids[#ids + 1], starts[#ids + 1] = ARGV[i], i
  i = i + (ARGV[i + 2] == '' and 3 or 11)
end
-- uses: moves/of_all
local known, marks = of_all(ids, 'HMGET', j), of_all(ids, 'HMGET', base .. ':cx')
local fresh = {}
for k, id in ipairs(ids) do
  local here, body = known[k], ARGV[starts[k] + 1]
  if here then
    local same = string.sub(here, 1, 13) == string.sub(body, 1, 13) and is_of_group(here)
    status[k] = same and 'h' or 'c'
  elseif marks[k] then
    status[k] = 'c' -- its id is in a lane still
  else
    fresh[#fresh + 1], fresh[#fresh + 2] = id, body
    status[k] = '1'
  end
end
if #fresh > 0 then redis.call('HSET', j, unpack(fresh)) end
for k, id in ipairs(ids) do
  if status[k] == '1' then settle_in(id, ARGV[starts[k] + 1], starts[k] + 2) end
end
if came.left > 0 then add(g, 'left', came.left) end
if came.dead > 0 then add(g, 'dead', came.dead) end
if came.left + came.dead > 0 then
  add(g, 'total', came.left + came.dead)
  add(c, 'bytes', came.bytes)
end
if came.dead > 0 then add(c, 'dead_bytes', came.dead_bytes) end
raise_largest(largest, heaviest)
-- A cancellation is to find jobs, too, that came by a clock which is ahead of the one here
if newest > now then cut = math.max(cut, newest_cut(newest)) end
if cut > newest_cut(redis.call('HGET', c, 'cut')) then redis.call('HSET', c, 'cut', cut) end
for tier, ids in pairs(lanes) do
  add(g, 'w' .. tier, #ids)
  local lane = {tier = tier, group = group}
  if redis.call('RPUSH', lane_key(lane), unpack(ids)) == #ids then
    redis.call('HSET', g, 'o' .. tier, 1) -- it gets a seat by `thaw`
  end
end
local left, dead, total = unpack(redis.call('HMGET', g, 'left', 'dead', 'total'))
if whole(left) > 0 or whole(dead) > 0 then
  redis.call('PERSIST', g)
  if whole(left) > 0 then list_managed(group) end
else
  forget_soon(g, whole(total))
end
tune(group)
return table.concat(status)
