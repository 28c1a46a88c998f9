-- At the end of a round, of tenants with rings and lanes of up to 1,000, and 10,000 ids in all:
-- their jobs that may be claimed, as far as their groups are concerned.
local amended, jobs_of, to_read = {}, {}, 10000 -- key of a record, field, value
for _, seat in pairs(sitting) do known[string.sub(seat, 13)] = true end
for _, one in ipairs(absent) do known[one.tenant] = true end
for tenant in pairs(recounted and known or {}) do
  jobs_of[tenant] = {[0] = 0, 0, 0, 0}
  for t = 0, 3 do if not read_tenant(t, tenant) then jobs_of[tenant] = nil; break end end
end
local function more_jobs(lane, n)
  local jobs, t = jobs_of[tenant_of(lane.group) or ''], tonumber(lane.tier)
  if jobs then jobs[t] = jobs[t] + n end
end
for key, lane in pairs(next(jobs_of) and seated or {}) do
  local tenant = tenant_of(lane.group)
  local size = tenant and jobs_of[tenant] and not apart[lane.group] and ours('LLEN', key) or 0
  to_read = to_read - (size <= 1000 and size or 0)
  if size > 1000 or to_read < 0 then jobs_of[tenant] = nil end
  for _, id in ipairs(size > 0 and jobs_of[tenant] and redis.call('LRANGE', key, 0, -1) or {}) do
    more_jobs(lane, redis.call('HEXISTS', j, id))
  end
end
for _, job in ipairs(lost) do if not apart[job.lane.group] then more_jobs(job.lane, 1) end end
for group, able in pairs(able_of) do
  for t = 0, 3 do more_jobs({tier = t, group = group}, able[t]) end
end
-- uses: audit/running
for tenant in pairs(recounted and known or {}) do
  local record = base .. ':tn:' .. tenant
  local f, waiting = ours('HMGET', record, unpack(BOUNDS)) or {}, {}
  local function amend(place, value)
    if whole(f[place]) ~= value then amended[#amended + 1] = {record, BOUNDS[place], value} end
  end
  if running then
    amend(3, running[tenant] or 0)
    f[3] = running[tenant] or 0
  end
  for t = 0, 3 do
    waiting[t] = jobs_of[tenant] and jobs_of[tenant][t] or math.max(0, whole(f[6 + t]))
    amend(6 + t, waiting[t])
  end
  if shut[tenant] then
    local room, able, state, rest = tenant_shares(f, waiting)
    sums[state] = sums[state] + rest
    amend(5, rest)
    local lost_seat = room > 0 and (f[14] or f[15] or f[16] or f[17])
    if state ~= f[4] or lost_seat then amended[#amended + 1] = {record, 'state', state} end
    for t = 0, 3 do
      amend(10 + t, able[t])
      standing[t] = standing[t] + able[t]
    end
  end
end
if #amended > 0 then miscounted = miscounted + 1 end
