-- uses: clock, add, let_go, managed, tune, tally, tell, by_group
-- Jobs that have left their places are dead: {id =, group =, size =, problem =} ... At most 200;
-- returns their groups, and how many jobs each has.
local function bury_all(jobs)
  local ids, scored, problems, bytes = {}, {}, {}, 0
  for k, job in ipairs(jobs) do
    ids[k], bytes = job.id, bytes + job.size
    scored[2 * k - 1], scored[2 * k] = now, job.id
    problems[2 * k - 1], problems[2 * k] = job.id, job.problem
  end
  let_go(ids, 1, #ids, true)
  for _, job in ipairs(jobs) do tell(job.id, 'x', job.problem) end
  redis.call('ZADD', base .. ':dead', unpack(scored))
  redis.call('HSET', base .. ':er', unpack(problems))
  redis.call('HSET', c, 'tried', 1)
  add(c, 'died', #ids)
  add(c, 'dead_bytes', bytes)
  local groups, count = by_group(jobs)
  for _, group in ipairs(groups) do
    local g, n = base .. ':g:' .. group, count[group]
    add(g, 'dead', n)
    tally(group, 'died', n)
    if add(g, 'left', -n) <= 0 then redis.call('HSET', g, 'finished', now) end
    if managed then tune(group) end
  end
  return groups, count
end
