#!lua flags=allow-oom
-- freeze: let no job of these task groups start any more; running ones continue.
-- ROLES   ops
-- KEYS[1] base; derived: c j cx dl lm mg mv wk g:<group> q:<0-3>:<group> ring:<0-3>
--         tr:<0-3>:<tenant> tn:<tenant> mt tt:<tenant>
-- ARGV    version of the route, whether their slots are closed (1, or ''), then n * (group, its
--         slot), n 1 to 200
-- Returns for each group how many of its jobs run or are about to; -1: it is unknown. Or {MOVED,
--         least version}: that of the route is another one.
-- A group on its way counts as held, whatever its settings say: `moving` and `slot` in its record,
-- and it is in `mv`, until `thaw`. Jobs that are added to it wait as well. Once closed, those that
-- do not run stay as they are (is_closed). O(groups).
local base = KEYS[1]
-- uses: moves/current
local c, mg = base .. ':c', base .. ':mg'
-- uses: clock, check_hashes, ours, tune, is_state, manage, probe_tenant
check_hashes('c', 'j', 'cx', 'mg')
-- uses: probe_managed
redis.call('SCARD', base .. ':mv')
local known, running = {}, {}
for i = 3, #ARGV, 2 do
  local group = ARGV[i]
  probe_tenant(group)
  local g = base .. ':g:' .. group
  local counted = is_state(ours('HGET', g, 'state'))
  known[i] = (ours('HLEN', g) or 0) > 0 and {counted = counted}
  if known[i] then known[i].jobs = count_lanes(group, counted) end
end
-- uses: make_way
for i = 3, #ARGV, 2 do
  local group, n = known[i], -1
  if group then
    local g = base .. ':g:' .. ARGV[i]
    redis.call('HSET', g, 'moving', ARGV[1], 'slot', ARGV[i + 1])
    redis.call('HDEL', g, 'closed')
    if ARGV[2] == '1' then redis.call('HSET', g, 'closed', 1) end
    redis.call('SADD', base .. ':mv', ARGV[i])
    if not group.counted then manage(ARGV[i], group.jobs) end
    tune(ARGV[i])
    local f = redis.call('HMGET', g, 'left', 'delayed', 'parked', 'w0', 'w1', 'w2', 'w3')
    n = whole(f[1])
    for k = 2, 7 do n = n - whole(f[k]) end
  end
  running[#running + 1] = math.max(n, group and 0 or -1)
end
return running
