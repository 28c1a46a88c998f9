#!lua flags=allow-oom
-- configure: hold a group or the partition, so that nothing of it starts, or release it.
-- ROLES   producer ops
-- KEYS[1] base; derived: c j cx mg wk g:<group> q:<0-3>:<group> ring:<0-3>
-- ARGV    group ('': the partition), hold (1) or release (0)
-- Returns 1 when that changed something, 0 when it was so before; -1 for a group that is unknown or
--         was forgotten.
-- What is claimed goes on. Ready jobs of a held group count apart, as `held` of c and by tier as
-- w0-w3 of its record, and its lanes leave their rings: a claim that meets a seat drops it, and
-- notes that (o0-o3). A release gives these lanes seats again. The hold of a group lasts as long as
-- the group is remembered. O(1); where jobs were cancelled one by one, up to 10,000 ids are read.
local base, group, hold = KEYS[1], ARGV[1], ARGV[2] == '1'
local c, g, mg = base .. ':c', base .. ':g:' .. ARGV[1], base .. ':mg'
-- uses: clock, check_hashes, ours, add, whole, wake, give_seat, lane_key
check_hashes('c', 'j', 'cx', 'mg')
ours('LLEN', base .. ':wk')
for t = 0, 3 do redis.call('LLEN', base .. ':ring:' .. t) end
if group == '' then
  local held = redis.call('HEXISTS', c, 'hold') == 1
  -- uses: make_way
  if held == hold then return 0 end
  if hold then redis.call('HSET', c, 'hold', now) else redis.call('HDEL', c, 'hold') end
  if not hold then wake('w') end
  return 1
end
-- uses: configure/jobs_of
local lanes, known, held, left = {}, ours('HLEN', g) or 0, ours('HGET', g, 'hold'), 0
for t = 0, 3 do
  lanes[t] = {tier = t, group = group}
  lanes[t].size = ours('LLEN', lane_key(lanes[t])) or 0
  lanes[t].jobs = hold and jobs_of(lanes[t])
end
-- uses: make_way
if known == 0 then return -1 end
if (held and true or false) == hold then return 0 end
if hold then
  redis.call('HSET', g, 'hold', now)
  if whole(redis.call('HGET', g, 'left')) > 0 then redis.call('HSET', mg, group, 0) end
  for t = 0, 3 do
    if lanes[t].jobs > 0 then
      redis.call('HSET', g, 'w' .. t, lanes[t].jobs)
      add(c, 'held', lanes[t].jobs)
      add(c, 'r' .. t, 0 - lanes[t].jobs) -- not -jobs: Redis 7.0 reads no -0
    end
  end
else
  redis.call('HDEL', g, 'hold')
  redis.call('HDEL', mg, group)
  for t = 0, 3 do
    local jobs = whole(redis.call('HGET', g, 'w' .. t))
    if jobs ~= 0 then
      add(c, 'held', 0 - jobs)
      add(c, 'r' .. t, jobs)
    end
    if redis.call('HDEL', g, 'o' .. t) == 1 and lanes[t].size > 0 then give_seat(lanes[t]) end
    redis.call('HDEL', g, 'w' .. t)
  end
  wake('w')
end
return 1
