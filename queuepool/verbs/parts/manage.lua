-- uses: lane_key, list_managed, whole, ours
-- uses: configure/jobs_of
-- Jobs in the lanes of a group, by tier. counted: it knows them
local function count_lanes(group, counted)
  local jobs = {}
  for t = 0, 3 do
    local lane = {tier = t, group = group}
    lane.size = ours('LLEN', lane_key(lane)) or 0
    jobs[t] = counted and 0 or jobs_of(lane)
  end
  if not counted and looked <= 0 then -- what was not looked at counts as jobs: too many, with marks
    local f = ours('HMGET', base .. ':g:' .. group, 'left', 'delayed', 'parked') or {}
    local over = jobs[0] + jobs[1] + jobs[2] + jobs[3]
    over = f[1] and over - math.max(0, whole(f[1]) - whole(f[2]) - whole(f[3])) or 0
    for t = 3, 0, -1 do
      local less = math.max(0, math.min(over, jobs[t]))
      jobs[t], over = jobs[t] - less, over - less
    end
  end
  return jobs
end
-- From now on a group counts its jobs itself. jobs: in its lanes, by tier
local function manage(group, jobs)
  local g = base .. ':g:' .. group
  redis.call('HSET', g, 'state', 'capped', 'apart', 0)
  for t = 0, 3 do redis.call('HSET', g, 'w' .. t, jobs[t], 'c' .. t, jobs[t]) end
  if whole(redis.call('HGET', g, 'left')) > 0 then list_managed(group) end
end
