-- Reads what the runs touch, before the first write. The limits of the protocol apply here, for any
-- client: of a run, of the jobs, of a group, of an id, of a body.
local groups, rings, late, i, sent = {}, {}, false, 7, 0
local tenants -- by group, if any
while i < words do
  local tier, group = ARGV[i], ARGV[i + 1]
  local delay, n = ARGV[i + 2] == '0' and 0 or tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3])
  if tier ~= '2' and not string.find(tier, '^[0-3]$') then
    -- uses: enqueue/of_tenant
  end
  if not group or not delay or not (delay >= 0 and delay < 9e15)
    or not n or not (n >= 1 and n % 1 == 0) or i + 3 + 2 * n > words then
    return {'REFUSED', 'run', 0, 0}
  end
  ARGV[i + 2], ARGV[i + 3] = delay, n -- parsed only once
  sent = sent + n
  -- Calls below take at most a few thousand arguments
  if sent > 2000 then return {'REFUSED', 'jobs', sent, 2000} end
  if #group < 1 or #group > 64 then return {'REFUSED', 'group', #group, 64} end
  for k = i + 4, i + 2 + 2 * n, 2 do
    if #ARGV[k] > 64 then return {'REFUSED', 'id', #ARGV[k], 64} end
    local size = #ARGV[k + 1]
    if size > 16777285 then return {'REFUSED', 'body', size, 16777285} end -- 16 MiB and a header
  end
  if delay > 0 then
    late = late or redis.call('ZCARD', dl)
    if tier < '2' then redis.call('ZCARD', base .. ':du') end
    local index = redis.pcall('SCARD', base .. ':dg:' .. group)
    if index ~= 0 and type(index) == 'table' then
      foreign = foreign or {}
      foreign[base .. ':dg:' .. group] = index
    end
  else
    local size = redis.pcall('LLEN', base .. ':q:' .. tier .. ':' .. group)
    if size ~= 0 and type(size) == 'table' then
      foreign = foreign or {}
      foreign[base .. ':q:' .. tier .. ':' .. group] = size
      size = 0
    end
    -- A new lane needs a seat
    if size == 0 then rings[tier] = rings[tier] or redis.call('LLEN', base .. ':ring:' .. tier) end
  end
  if not groups[group] then
    local g = base .. ':g:' .. group
    local known = redis.pcall('HMGET', g, 'total', 'left', 'delayed', 'state')
    if known.err then
      foreign = foreign or {}
      foreign[g] = known
    end
    if known[4] then
      -- uses: is_state
      known[4] = is_state(known[4])
      redis.call('HLEN', base .. ':mg')
      -- uses: ours, probe_managed, probe_tenant
      probe_tenant(group)
    end
    groups[group] = known
  end
  i = i + 4 + 2 * n
end
