#!lua flags=allow-oom
-- configure: set how a group may run; hold a group or the partition, or release it.
-- ROLES   producer coordinator ops
-- KEYS[1] base; derived: c j cx dl mg wk g:<group> q:<0-3>:<group> ring:<0-3> tr:<0-3>:<tenant>
--         tn:<tenant> mt tt:<tenant> lm gg:<group> gr:<tier>:<gate>
--         gq:<tier>:<gate>~<group> mn
-- ARGV    group ('': the partition), version of the route ('': 1), then n * (setting, value ('':
--         none)): hold (1), max (jobs that run at once), serial (1: one job after the other),
--         weight (share of turns in its tiers, beside 1 of others), tier (0-3: whose turns its jobs
--         have, instead of their own), keep (ms for which its record stays without work; makes the
--         record of a group that has none), spread (over how many slots it is spread: never less
--         than it was), slot (that of its key, for a move: comes first, and changes nothing); of
--         the partition only hold. Or: group, version, gates, cursor ('' to begin): what a group
--         has at gates follows its tier
-- Returns 1 if that changed anything, else 0; -1 for a group that is unknown or was forgotten; of
--         gates the next cursor, '' at the end; {MOVED, least version}: that of the route is lower.
-- Claimed jobs continue. A group with settings counts its ready jobs in its record, by tier: all
-- (w0-w3), and those that may be claimed (c0-c3, within r0-r3 of c); the rest (apart) is within
-- `held` or `capped` of c. Its lanes leave their rings while nothing may be claimed: a claim that
-- finds a seat drops it, and records that (o0-o3). Settings last as long as the group itself.
-- A group that ever changed its tier has `moved`, the least stamp of seats that count: its lanes
-- have new ones, and a claim that meets an older one drops it. Its record is kept for a day after
-- its last job. A call for gates visits about ten.
-- O(1); if jobs were cancelled individually, up to 10,000 ids are read.
local base, group, routed = KEYS[1], ARGV[1], ARGV[2]
-- uses: moved
local c, g, mg = base .. ':c', base .. ':g:' .. ARGV[1], base .. ':mg'
-- uses: clock, check_hashes, ours, tune, lane_key, is_state, list_managed
-- uses: probe_tenant
check_hashes('c', 'j', 'cx', 'mg')
local shut = redis.call('HEXISTS', c, 'shut') == 1
-- uses: probe_managed
if group == '' then
  local held, hold = redis.call('HEXISTS', c, 'hold') == 1, ARGV[4] == '1'
  -- uses: make_way
  if held == hold then return 0 end
  if hold then redis.call('HSET', c, 'hold', now) else redis.call('HDEL', c, 'hold') end
  if not hold then wake('w') end
  return 1
end
if ARGV[3] == 'gates' then
  -- uses: configure/to_gates
end
-- uses: manage, unmanage, configure/shift
probe_tenant(group)
local known, state = ours('HLEN', g) or 0, is_state(ours('HGET', g, 'state'))
local jobs = count_lanes(group, state)
-- uses: make_way
local changed, keep, tier = 0, 0, redis.call('HGET', g, 'tier') or ''
local first = ARGV[3] == 'slot' and 5 or 3
for i = first, #ARGV, 2 do if ARGV[i] == 'keep' then keep = whole(ARGV[i + 1]) end end
if known == 0 and keep <= 0 then return -1 end
if shut then redis.call('SADD', base .. ':mn', group) end -- the first write: it fails alone
for i = first, #ARGV, 2 do
  local value = ARGV[i + 1]
  local was = redis.call('HGET', g, ARGV[i]) or ''
  if ARGV[i] == 'spread' and whole(was) > whole(value) then value = was end
  if ARGV[i] == 'hold' and (was == '') == (value == '') then value = was end
  if value ~= was then changed = 1 end
  if value == '' then
    redis.call('HDEL', g, ARGV[i])
  elseif value ~= was then
    redis.call('HSET', g, ARGV[i], ARGV[i] == 'hold' and now or value)
  end
end
local left, dead, total = unpack(redis.call('HMGET', g, 'left', 'dead', 'total'))
local moved = tier ~= (redis.call('HGET', g, 'tier') or '')
total = whole(total)
if moved and total > 0 then
  -- uses: kept
  keep = kept
end
if keep > 0 and whole(left) <= 0 and whole(dead) <= 0 then
  redis.call('PEXPIRE', g, math.max(keep, redis.call('PTTL', g)))
end
if changed == 0 then return 0 end
if first == 5 then redis.call('HSET', g, 'slot', ARGV[4]) end
if not state then manage(group, jobs) end
if moved then
  shift(tier)
  renew_seats(group)
end
if tune(group) > 0 then wake('w') end
unmanage(group)
return 1
