#!lua flags=allow-oom
-- finish_stray: record the end of jobs that succeeded, wherever they are by now.
-- ROLES   consumer ops
-- KEYS[1] base; derived: o dr rec c j fl:<epochs> dl du dg:<group> ua dead cx g:<group> dn:<0|1>
--         r:<id> at cr er pr cn mg mv ring:<0-3> tr:<0-3>:<tenant> tn:<tenant> mt tt:<tenant> u uk
--         ex lm ga wk fo
-- ARGV    nonce, epoch, then n * (id, stamp of the body that was claimed, ttl ms (0: no result),
--         result)
-- Returns {finished, duplicates, how many finished outside this in-flight set}; or {FENCED, current
--         epoch}.
-- For ends that finish left alone, and those that may already be recorded. With the same stamp the
-- job is the one that ran: a failover undid its claim, or the caller lost the partition meanwhile.
-- With another one it was finished before, and the id was accepted again or its job replayed; a
-- dead job stays dead, and one that is being copied to another partition waits: duplicates. A
-- draining owner may call it. O(n log delayed).
local base, book = KEYS[1], KEYS[1] .. ':fl:' .. ARGV[2]
local j, c = base .. ':j', base .. ':c'
-- uses: fence_or_drain, managed, check_hashes, remember, count_done, is_claimed, group_of
-- uses: leave_delayed, add, ours, let_go, mark, probe_tenant, leave, tally, tell, moves/is_closed
check_hashes('j', 'at', 'cr', 'er', 'pr', 'cn', 'cx', 'ua')
for _, k in ipairs({'dl', 'du', 'dead'}) do redis.call('ZCARD', base .. ':' .. k) end
-- uses: who_owns, epochs_in_flight
for _, e in ipairs(epochs) do redis.call('ZCARD', base .. ':fl:' .. e) end
local function is_copied(id, group) -- and does not run
  if not is_closed(group) then return false end
  for _, e in ipairs(epochs) do
    if redis.call('ZSCORE', base .. ':fl:' .. e, id) then return false end
  end
  return true
end
local jobs = {}
for i = 3, #ARGV, 4 do
  local body = redis.call('HGET', j, ARGV[i])
  if body and is_claimed(body, ARGV[i + 1])
    and not redis.call('ZSCORE', base .. ':dead', ARGV[i])
    and not is_copied(ARGV[i], group_of(body)) then
    local group = group_of(body)
    local g = base .. ':g:' .. group
    jobs[i] = {group = group, g = g, body = body}
    ours('HLEN', g)
    ours('SCARD', base .. ':dg:' .. group)
    probe_tenant(group)
    -- SET accepts any type
    if ARGV[i + 2] ~= '0' then redis.call('EXISTS', base .. ':r:' .. ARGV[i]) end
  end
end
-- uses: make_way

local function take_out(id, job) -- remove it from where it is; whether not from this set
  local here = redis.call('ZREM', book, id) == 1
  local elsewhere = false
  for _, e in ipairs(here and {} or epochs) do
    elsewhere = elsewhere or redis.call('ZREM', base .. ':fl:' .. e, id) == 1
  end
  if here or elsewhere then
    leave(job.group, 1)
    return here and 0 or 1
  end
  if not leave_delayed(id, job.group) then mark(id, job.body) end
  return 1
end

local finished, rolled, freed, n = 0, 0, 0, 0
for i = 3, #ARGV, 4 do
  local id, job = ARGV[i], jobs[i]
  n = n + 1
  if job and redis.call('HDEL', j, id) == 1 then
    rolled = rolled + take_out(id, job)
    tell(id, 'd', ARGV[i + 3])
    finished, freed = finished + 1, freed + #job.body
    for _, k in ipairs({'at', 'cr', 'er', 'pr', 'cn'}) do
      redis.call('HDEL', base .. ':' .. k, id)
    end
    let_go({id}, 1, 1)
    if ARGV[i + 2] ~= '0' then
      redis.call('SET', base .. ':r:' .. id, ARGV[i + 3], 'PX', ARGV[i + 2])
    end
    count_done(job.g, 1, '1')
    tally(job.group, 'done', 1)
  end
  if redis.call('HEXISTS', j, id) == 0 then remember({id}, 1, 1) end
end
add(c, 'done', finished)
add(c, 'bytes', 0 - freed) -- not -freed: Redis 7.0 rejects -0
if n > finished then add(c, 'duplicate_finish', n - finished) end
if rolled > 0 then add(c, 'rollback_finish', rolled) end
return {finished, n - finished, rolled}
