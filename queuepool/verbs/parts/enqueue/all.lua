local base, wished = KEYS[1], ARGV[5] + 0 -- tonumber would parse each twice
local words = #ARGV - wished -- of the runs and what stands before them
local max_depth, max_bytes, size = ARGV[1] + 0, ARGV[2] + 0, ARGV[4] + 0
local j, dl, c, wk, cx = base .. ':j', base .. ':dl', base .. ':c', base .. ':wk', base .. ':cx'
local was = redis.call('HMGET', c, 'r0', 'r1', 'r2', 'r3', 'bytes', 'enqueued', 'cut', 'largest',
  'route')
local least, version = was[9] and tonumber(was[9]), tonumber(ARGV[6]) or 1
if least and least > version then
  -- uses: enqueue/by_slot
end
for k = 1, 7 do was[k] = tonumber(was[k]) or 0 end
-- uses: clock, foreign
local all = was[1] + was[2] + was[3] + was[4] + was[5] + was[6]
if not (all > -9e15 and all < 9e15) then -- unusable for counting
  -- uses: whole
  for k = 1, 6 do was[k] = whole(was[k]) end
end
local depth, bytes = redis.call('HLEN', j), was[5]
if depth + ARGV[3] > max_depth or bytes + size > max_bytes then
  local live = depth - redis.call('ZCARD', base .. ':dead')
  local held = bytes - (tonumber(redis.call('HGET', c, 'dead_bytes')) or 0)
  if live + ARGV[3] > max_depth or held + size > max_bytes then return {'FULL', live, held} end
end
-- Unknown while there are bodies of an earlier version.
local largest, most = tonumber(was[8] or depth == 0 and 0 or nil), 0
local idle = was[1] + was[2] + was[3] + was[4] <= 0
-- uses: read_runs
-- Never the ms of a group's cancellation: its cut must tell what came before it.
local after_cut = was[7] < 8796093022208 and was[7] + 1 or 0 -- 2^43: the stamp has 11 digits
local stamp = string.format('%011x', math.max(now, after_cut))
local replaced, clashes, kept, by, grown, heaviest, moved = 0, nil, nil, nil, nil, nil, nil
local gates -- by id, of jobs that name limits
if wished > 0 then
  -- uses: enqueue/unique
end
local woken, told = idle and redis.pcall('LPOS', wk, 'w'), late and redis.pcall('LPOS', wk, 'd')
if type(woken or told) == 'table' then
  foreign = foreign or {}
  foreign[wk] = woken or told
  woken, told = false, false
end

-- uses: seen
if foreign then
  -- uses: make_way
end
local answered, status, added, ready = 0, {}, 0, {}
local wake, sooner, tuned, able, created = false, false, nil, false, nil
i = 7
while i < words do
  local tier, group, delay = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local last = i + 3 + 2 * ARGV[i + 3]
  local head, fresh, n = '1' .. tier .. stamp, {}, 0
  for k = i + 4, last, 2 do
    local id, tail = ARGV[k], ARGV[k + 1]
    if not seen[id] and not (clashes and clashes(answered + 1, id, tail, group, delay))
      and redis.call('HSETNX', j, id, head .. tail) == 1 then
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
    -- uses: enqueue/count
    added = added + n
    if gates then
      -- uses: enqueue/gates
    end
    if known[4] then
      -- uses: enqueue/managed
    end
    if delay > 0 then
      local due, at = {}, string.format('%d', now + delay)
      for k, id in ipairs(fresh) do due[2 * k - 1], due[2 * k] = at, id end
      redis.call('ZADD', dl, unpack(due))
      if tier < '2' then
        -- uses: enqueue/urgent
      end
      redis.call('SADD', base .. ':dg:' .. group, unpack(fresh))
      sooner = sooner or redis.call('ZCOUNT', dl, '-inf', '(' .. at) == 0
    elseif n > 0 then -- not all of them wait at their gates
      if not known[4] then
        -- uses: enqueue/ready
      end
      if redis.call('RPUSH', base .. ':q:' .. tier .. ':' .. group, unpack(fresh)) == n then
        -- uses: enqueue/seat
      end
    end
  end
end
local counts = {}
if added > 0 then
  counts = {'enqueued', string.format('%d', was[6] + added),
    'bytes', string.format('%d', bytes + size)}
end
most = most + 13 -- the head
if added > 0 and largest and (most > largest or not was[8]) then
  counts[5], counts[6] = 'largest', most
end
for tier, n in pairs(ready) do
  local k = #counts
  counts[k + 1], counts[k + 2] = 'r' .. tier, string.format('%d', was[tier + 1] + n)
end
if since and now < since then -- the clock went back
  local k = #counts
  counts[k + 1], counts[k + 2] = 'dn_since', now
end
if #counts > 0 then redis.call('HSET', c, unpack(counts)) end
if tuned then
  -- uses: enqueue/tune
end
if added < answered then
  -- uses: enqueue/kept_out
end
if grown then
  -- uses: enqueue/replaced
end
if (wake or able and idle) and not woken then redis.call('RPUSH', wk, 'w') end
if sooner and not told then redis.call('RPUSH', wk, 'd') end
if by and #by > 0 then
  for _, told_of in ipairs(kept) do status[told_of[1]] = told_of[2] end
  return {'CONFLICT', table.concat(status), unpack(by)}
end
return table.concat(status)
