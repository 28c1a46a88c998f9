#!lua flags=allow-oom
-- forget: delete jobs of a frozen task group that another partition has adopted.
-- ROLES   ops
-- KEYS[1] base; derived: c j cx dl du dead at cr er ua u uk ex lm ga gt mg mv wk g:<group>
--         q:<0-3>:<group> dg:<group> gg:<group> gq:<tier>:<gate>~<group> ring:<0-3>
--         tr:<0-3>:<tenant> tn:<tenant> mt tt:<tenant>
-- ARGV    version of the route, group, whether it is to be forgotten itself, once it has no jobs
--         (1; 2: unless it has come by this version; or ''), then n * (id, stamp of the body)
-- Returns {jobs that are left, dead jobs}; or {MOVED, least version}. O(jobs) in front.
-- Leaves a mark, as of a cancelled job, in a lane that would be empty: it has a seat.
local base, group = KEYS[1], ARGV[2]
-- uses: moves/current
local c, j, mg, g = base .. ':c', base .. ':j', base .. ':mg', base .. ':g:' .. group
-- uses: clock, check_hashes, ours, tune, probe_tenant, add, tier_of, lane_key
-- uses: let_go, leave_delayed, unpark, leave_gate, gate_of
check_hashes('c', 'j', 'cx', 'mg', 'at', 'cr', 'er', 'ua', 'gt')
-- uses: probe_managed
for _, k in ipairs({'dl', 'du', 'dead'}) do redis.call('ZCARD', base .. ':' .. k) end
redis.call('SCARD', base .. ':mv')
ours('SCARD', base .. ':dg:' .. group)
ours('SCARD', base .. ':gg:' .. group)
probe_tenant(group)
for t = 0, 3 do ours('LLEN', lane_key({tier = t, group = group})) end
local ids = {}
for i = 4, #ARGV, 2 do ids[#ids + 1] = ARGV[i] end
-- uses: moves/of_all
local bodies, limits = of_all(ids, 'HMGET', j), of_all(ids, 'HMGET', base .. ':lm')
local dues, deaths = of_all(ids, 'ZMSCORE', base .. ':dl'), of_all(ids, 'ZMSCORE', base .. ':dead')
for k, limit in pairs(limits) do
  local _, gate = gate_of(limit)
  local body = gate and bodies[k]
  if body then ours('LLEN', base .. ':gq:' .. tier_of(body) .. ':' .. gate .. '~' .. group) end
end
local known = ours('HLEN', g) or 0
-- uses: make_way
if known == 0 then return {0, 0} end
-- It has come since this call was sent the first time
if ARGV[3] == '2' and redis.call('HGET', g, 'moving') == ARGV[1] then return {0, 0} end
-- uses: moves/take_out, moves/take_run, is_of_group
local there = {}
for k = 1, #ids do
  local body = bodies[k]
  if body and string.find(body, ARGV[3 + 2 * k], 3, true) == 3 and is_of_group(body) then
    there[#there + 1] = k
  end
end
local gone, left_by, size, dead_size = {}, {}, 0, 0
local together = take_run(there)
for _, k in ipairs(there) do
  local id, body = ids[k], bodies[k]
  local place = together
    or take_out(id, body, {due = dues[k], died = deaths[k], limits = limits[k]})
  if place then
    size = size + #body
    if place == 'dead' then dead_size = dead_size + #body end
    left_by[place] = (left_by[place] or 0) + 1
    gone[#gone + 1] = id
  end
end
if #gone > 0 then
  left_by.total, left_by.left = #gone, #gone - (left_by.dead or 0)
  for field, n in pairs(left_by) do add(g, field, -n) end
  for _, k in ipairs({'j', 'at', 'cr', 'er', 'ua'}) do
    if redis.call('EXISTS', base .. ':' .. k) == 1 then
      redis.call('HDEL', base .. ':' .. k, unpack(gone))
    end
  end
  let_go(gone, 1, #gone)
end
if size > 0 then add(c, 'bytes', -size) end
if dead_size > 0 then add(c, 'dead_bytes', -dead_size) end
tune(group)
local left, dead = unpack(redis.call('HMGET', g, 'left', 'dead'))
left, dead = math.max(0, whole(left)), math.max(0, whole(dead))
if left + dead == 0 then redis.call('PEXPIRE', g, 86400000) end
if ARGV[3] ~= '' and left + dead == 0 then
  local moved = redis.call('HGET', g, 'moved') -- there may be older seats than that
  redis.call('UNLINK', g)
  redis.call('SREM', base .. ':mv', group)
  if moved then
    redis.call('HSET', g, 'moved', moved, 'state', 'capped', 'apart', 0)
    redis.call('PEXPIRE', g, 86400000)
  end
end
return {left, dead}
