-- uses: add, whole, forget_soon, let_go, tell, by_group
-- Delete dead jobs: {id =, group =, size = of the body, 0 if there was none} ..., at most 400; with
-- the last one of a group, if finished, it is soon forgotten. as: their counter, evicted or
-- discarded
local function forget_dead(jobs, as)
  local ids, bytes, known = {}, 0, {}
  for k, job in ipairs(jobs) do
    tell(job.id, as == 'evicted' and 'v' or 'g')
    ids[k], bytes = job.id, bytes + job.size
    if job.size > 0 then known[#known + 1] = job end
  end
  for _, k in ipairs({'j', 'at', 'cr', 'er'}) do
    redis.call('HDEL', base .. ':' .. k, unpack(ids))
  end
  let_go(ids, 1, #ids)
  add(c, as, #ids)
  add(c, 'dead_bytes', 0 - bytes) -- not -bytes: Redis 7.0 rejects -0
  add(c, 'bytes', 0 - bytes)
  local groups, count = by_group(known)
  for _, group in ipairs(groups) do
    local g = base .. ':g:' .. group
    add(g, as, count[group])
    if add(g, 'dead', -count[group]) <= 0 and whole(redis.call('HGET', g, 'left')) <= 0 then
      forget_soon(g, whole(redis.call('HGET', g, 'total')))
    end
  end
end
