#!lua
-- enqueue: accept up to 200 jobs; each id is accepted once.
-- KEYS[1] base; derived: j dl dg:<group> c wk cx dead dn:<0|1> g:<group> q:<tier>:<group> ring:<tier>
-- ARGV    max_depth (jobs), max_bytes, jobs, bytes
--         then runs of jobs alike: tier (0-3), group, delay ms, n, n * (id, body from its slot on)
-- Returns one character a job, 1 accepted or 0 duplicate; or {FULL, depth, bytes} with nothing
--         written: room is tested for the whole call. Dead jobs take none: they have bounds of their own.
-- No allow-oom flag: an out-of-memory server refuses it before the first line.
-- The script stamps the time into the body, so no producer's clock counts. O(jobs).
local redis, ARGV, tonumber, type, base, words = redis, ARGV, tonumber, type, KEYS[1], #ARGV -- locals are faster
local max_depth, max_bytes = tonumber(ARGV[1]), tonumber(ARGV[2])
local j, dl, c, wk, cx = base .. ':j', base .. ':dl', base .. ':c', base .. ':wk', base .. ':cx'
local was = redis.call('HMGET', c, 'r0', 'r1', 'r2', 'r3', 'bytes', 'enqueued', 'cut', 'dn', 'dn_since', 'largest')
for k = 1, 7 do was[k] = tonumber(was[k]) or 0 end
-- uses: clock, remembered
local all = was[1] + was[2] + was[3] + was[4] + was[5] + was[6]
if not (all > -9e15 and all < 9e15) then -- none that can be counted with
  -- uses: whole
  for k = 1, 6 do was[k] = whole(was[k]) end
end
local depth, bytes = redis.call('HLEN', j), was[5]
if depth + ARGV[3] > max_depth or bytes + ARGV[4] > max_bytes then
  local live, held = depth - redis.call('ZCARD', base .. ':dead'), bytes - (tonumber(redis.call('HGET', c, 'dead_bytes')) or 0)
  if live + ARGV[3] > max_depth or held + ARGV[4] > max_bytes then return {'FULL', live, held} end
end
local largest, most = tonumber(was[10] or depth == 0 and 0 or nil), 0 -- unknown while bodies of a version before are here
local idle = was[1] + was[2] + was[3] + was[4] <= 0
local groups, rings, late, i, sent, foreign = {}, {}, false, 5, 0, nil
while i < words do -- read every key before the first write
  local tier, group = ARGV[i], ARGV[i + 1]
  -- uses: bounds
  if delay > 0 then
    late = late or redis.call('ZCARD', dl)
    local index = redis.pcall('SCARD', base .. ':dg:' .. group)
    if index ~= 0 and type(index) == 'table' then foreign = foreign or {}; foreign[#foreign + 1] = {key = base .. ':dg:' .. group, err = index.err} end
  else
    local size = redis.pcall('LLEN', base .. ':q:' .. tier .. ':' .. group)
    if size ~= 0 and type(size) == 'table' then
      foreign = foreign or {}
      foreign[#foreign + 1], size = {key = base .. ':q:' .. tier .. ':' .. group, err = size.err}, 0
    end
    if size == 0 then rings[tier] = rings[tier] or redis.call('LLEN', base .. ':ring:' .. tier) end -- a new lane takes a seat
  end
  if not groups[group] then
    local g = base .. ':g:' .. group
    local known = redis.pcall('HMGET', g, 'total', 'left', 'delayed', 'created')
    if known.err then foreign = foreign or {}; foreign[#foreign + 1], known = {key = g, err = known.err}, {} end
    if known[1] then known[1], known[2], known[3] = tonumber(known[1]), tonumber(known[2]), tonumber(known[3]) end
    groups[group] = known
  end
  i = i + 4 + 2 * n
end
local woken, told = idle and redis.pcall('LPOS', wk, 'w'), late and redis.pcall('LPOS', wk, 'd')
if type(woken or told) == 'table' then
  foreign = foreign or {}
  foreign[#foreign + 1], woken, told = {key = wk, err = (woken or told).err}, false, false
end
-- Never the ms of a group's cancellation: its cut must tell what came before it.
local stamp = string.format('%011x', math.max(now, was[7] < 8796093022208 and was[7] + 1 or 0)) -- 2^43: it has 11 digits

-- uses: seen
-- uses: make_way
local answered, status, added, size, ready, wake, sooner = 0, {}, 0, tonumber(ARGV[4]), {}, false, false
i = 5
while i < words do
  local tier, group, delay, last = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]), i + 3 + 2 * ARGV[i + 3]
  local head, fresh, n = '1' .. tier .. stamp, {}, 0
  for k = i + 4, last, 2 do
    local id, tail = ARGV[k], ARGV[k + 1]
    if not seen[id] and redis.call('HSETNX', j, id, head .. tail) == 1 then
      n = n + 1
      fresh[n] = id
      if #tail > most and delay <= 0 then most = #tail end
      answered = answered + 1
      status[answered] = '1'
    else
      answered = answered + 1
      status[answered] = '0'
      size = size - #head - #tail
    end
  end
  i = last + 1
  local g, known = base .. ':g:' .. group, groups[group]
  if n > 0 then
    local total, left, delayed = (known[1] or 0) + n, (known[2] or 0) + n, (known[3] or 0) + (delay > 0 and n or 0)
    if left <= n then -- it had no work left, and may be about to be forgotten
      redis.call('HSET', g, 'total', total, 'left', left, 'delayed', delayed, 'created', known[4] or now)
      redis.call('PERSIST', g)
    else
      redis.call('HSET', g, 'total', total, 'left', left, 'delayed', delayed)
    end
    groups[group] = {total, left, delayed, known[4] or now}
    added = added + n
    if delay > 0 then
      local due = {}
      for k, id in ipairs(fresh) do due[2 * k - 1], due[2 * k] = now + delay, id end
      redis.call('ZADD', dl, unpack(due))
      redis.call('SADD', base .. ':dg:' .. group, unpack(fresh))
      sooner = sooner or redis.call('ZCOUNT', dl, '-inf', '(' .. now + delay) == 0
    else
      ready[tier] = (ready[tier] or 0) + n
      wake = wake or idle
      if redis.call('RPUSH', base .. ':q:' .. tier .. ':' .. group, unpack(fresh)) == n then
        redis.call('RPUSH', base .. ':ring:' .. tier, tier .. stamp .. group)
      end
    end
  end
end
local counts = {}
if added > 0 then counts = {'enqueued', was[6] + added, 'bytes', bytes + size} end
most = most + 13 -- the head
if added > 0 and largest and (most > largest or not was[10]) then counts[5], counts[6] = 'largest', most end
for tier, n in pairs(ready) do
  local k = #counts
  counts[k + 1], counts[k + 2] = 'r' .. tier, was[tier + 1] + n
end
if was[9] and now < (tonumber(was[9]) or 0) then counts[#counts + 1] = 'dn_since'; counts[#counts + 1] = now end -- the clock went back
if #counts > 0 then redis.call('HSET', c, unpack(counts)) end
if added < answered then
  -- uses: add
  add(c, 'duplicate', answered - added)
end
if wake and not woken then redis.call('RPUSH', wk, 'w') end
if sooner and not told then redis.call('RPUSH', wk, 'd') end
return table.concat(status)
