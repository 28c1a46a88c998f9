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
  return jobs
end
-- From now on a group counts its jobs itself. jobs: in its lanes, by tier
local function manage(group, jobs)
  local g = base .. ':g:' .. group
  redis.call('HSET', g, 'state', 'capped', 'apart', 0)
  for t = 0, 3 do redis.call('HSET', g, 'w' .. t, jobs[t], 'c' .. t, jobs[t]) end
  if whole(redis.call('HGET', g, 'left')) > 0 then list_managed(group) end
end
