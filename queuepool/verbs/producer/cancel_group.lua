#!lua flags=allow-oom
-- cancel_group: cancel the current jobs of a task group, one bounded step per call.
-- ROLES   producer ops
-- KEYS[1] base; derived: j c o dr dl du dg:<group> ua cn wk at cr er cx g:<group> q:<0-3>:<group>
--         fl:<epochs> dn:<0|1> mg ring:<0-3> tr:<0-3>:<tenant> tn:<tenant> mt tt:<tenant> u uk ex
--         lm ga gt gk gg:<group> gr:<tier>:<gate> gq:<tier>:<gate>~<group> fo
-- ARGV    group, cursor ('start', then what the last call returned), version of the route ('': 1)
-- Returns {next cursor ('' when done), waiting jobs cancelled, running jobs asked}; or {MOVED,
--         least version}: that of the route is lower.
-- The first call sets the cut: jobs enqueued up to then are cancelled wherever they appear later
-- (promote, retry, recover, hand_back, admit); later ones are not affected. Then lanes by 200, and
-- those at gates, which lose their seats with their last job; the group's own delayed jobs by 200,
-- and all delayed ones only if an earlier version, without that index, delayed some; finally the
-- in-flight sets: a worker that stopped sooner would claim what is still in the lanes.
local base, group, cursor, routed = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
-- uses: moved
local j, c, g, cn = base .. ':j', base .. ':c', base .. ':g:' .. ARGV[1], base .. ':cn'
-- uses: check_hashes, remember, settle, unaside, wake, is_of_group, stamp_of, undelay, add, whole
-- uses: newest_cut, ours, let_go, count_ready, unpark, leave_gate, probe_tenant, tally, tell
check_hashes('j', 'c', 'cn', 'at', 'cr', 'er', 'cx', 'ua', 'gt', 'gk')
local dl, dg, gg = base .. ':dl', base .. ':dg:' .. group, base .. ':gg:' .. group
redis.call('ZCARD', dl)
redis.call('ZCARD', base .. ':du')
ours('SCARD', dg)
ours('SCARD', gg)
probe_tenant(group)
local lanes, asked, gone, size = {}, 0, {}, 0
for t = 0, 3 do lanes[t] = base .. ':q:' .. t .. ':' .. group; ours('LLEN', lanes[t]) end
local page = string.find(cursor, '^gates:')
  and ours('SSCAN', gg, string.sub(cursor, 7), 'COUNT', 10) or {'0', {}}
for _, place in ipairs(page[2]) do ours('LLEN', base .. ':gq:' .. place .. '~' .. group) end
if ours('HLEN', g) == 0 then return {'', 0, 0} end
local cut = ours('HGET', g, 'cancelled_at')
cut = cut and whole(cut) or -1
if cut < 0 then cursor = 'start' end -- also if a failover lost the cut: start over

local function cut_off(body)
  return body and stamp_of(body) <= cut and is_of_group(body)
end

-- Ids of the group in the in-flight sets of owners; that of an owner that left is in rec
local function running()
  local epochs, found = redis.call('HKEYS', base .. ':dr'), {}
  local owner = redis.call('HMGET', base .. ':o', 'nonce', 'epoch')
  if owner[1] and owner[1] ~= '' then epochs[#epochs + 1] = owner[2] end
  for _, e in ipairs(epochs) do
    for _, id in ipairs(redis.call('ZRANGE', base .. ':fl:' .. e, 0, 9999)) do
      if cut_off(redis.call('HGET', j, id)) then found[#found + 1] = id end
    end
  end
  return found
end

-- uses: cancel_group/clear, cancel_group/vacate, make_way
if cursor == 'start' then
  -- No job has a later stamp
  cut, cursor = math.max(now, newest_cut(redis.call('HGET', c, 'cut')) + 1), 'lanes'
  redis.call('HSET', g, 'cancelled_at', cut)
  redis.call('HSET', c, 'cut', cut) -- enqueue gives it to no later job
end
if cursor == 'lanes' then
  cursor = '0'
  for t = 0, 3 do
    local jobs, _, more = clear(lanes[t])
    count_ready(t, group, 0 - jobs) -- not -jobs: Redis 7.0 rejects -0
    if more then cursor = 'lanes' end
  end
  if cursor == '0' and redis.call('EXISTS', gg) == 1 then cursor = 'gates:0' end
elseif string.find(cursor, '^gates:') then
  local more = false
  for _, place in ipairs(page[2]) do
    local jobs, left, rest = clear(base .. ':gq:' .. place .. '~' .. group)
    if jobs > 0 then unpark(group, jobs) end
    local gate = string.sub(place, 3)
    leave_gate(gate, left + vacate(place))
    if redis.call('HEXISTS', base .. ':gt', gate) == 0 then
      redis.call('HDEL', base .. ':gk', gate)
    end
    more = more or rest
  end
  if not more then cursor = page[1] == '0' and '0' or 'gates:' .. page[1] end
elseif cursor ~= 'books' and whole(redis.call('HGET', g, 'delayed')) > 0 then
  local all = string.match(cursor, '^all:(.*)') -- position in dl; else in the group's index
  local page = all and redis.call('ZSCAN', dl, all, 'COUNT', 200)
    or redis.call('SSCAN', dg, cursor, 'COUNT', 200)
  for i = 1, #page[2], all and 2 or 1 do
    local id = page[2][i]
    local body = redis.call('HGET', j, id)
    if cut_off(body) and redis.call('ZREM', dl, id) == 1 then
      gone[#gone + 1] = id
      unaside(id)
      size = size + #body
    elseif not all and not redis.call('ZSCORE', dl, id) then
      redis.call('SREM', dg, id) -- an earlier version removed it from dl
    end
  end
  if #gone > 0 then
    redis.call('ZREM', base .. ':du', unpack(gone))
    undelay(group, gone)
  end
  if page[1] ~= '0' then
    cursor = (all and 'all:' or '') .. page[1]
  elseif not all and whole(redis.call('HGET', g, 'delayed')) > redis.call('SCARD', dg) then
    cursor = 'all:0' -- an earlier version delayed some
  else
    cursor = 'books'
  end
else
  cursor = ''
  for _, id in ipairs(running()) do asked = asked + 1; redis.call('HSET', cn, id, now) end
  if asked > 0 then wake('c') end
end
if #gone > 0 then
  if string.find(table.concat(gone, ' '), '~', 1, true) then -- of batches
    for _, id in ipairs(gone) do tell(id, 'c') end -- before their bodies are gone
  end
  for _, k in ipairs({'j', 'at', 'cr', 'er', 'cn'}) do
    if redis.call('EXISTS', base .. ':' .. k) == 1 then
      redis.call('HDEL', base .. ':' .. k, unpack(gone))
    end
  end
  let_go(gone, 1, #gone)
  for k, id in ipairs(gone) do gone[k] = '!' .. id end
  remember(gone, 1, #gone)
  add(c, 'cancelled', #gone)
  add(c, 'bytes', -size)
  add(g, 'cancelled', #gone)
  tally(group, 'cancelled', #gone)
  settle(g, #gone)
end
return {cursor, #gone, asked}
