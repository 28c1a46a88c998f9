#!lua flags=allow-oom
-- bury: move running jobs that will not be retried to dead, and keep dead within its bounds.
-- ROLES   consumer ops
-- KEYS[1] base; derived: o dr c j fl:<epoch> dead at cr er pr cn g:<group> mg ring:<0-3>
--         tr:<0-3>:<tenant> tn:<tenant> mt tt:<tenant> u uk ex lm ga dl wk fo
-- ARGV    nonce, epoch, dead jobs kept, dead bytes kept, ms a dead job is kept, then n * (id,
--         error, stamp of the body that was claimed ('': whichever))
-- Returns {one character per job: b buried, 0 not in flight here or another body; evicted}; or
--         {FENCED, current epoch}.
-- For each job buried at most two of the oldest are evicted, and counted, also in their groups. A
-- draining owner may.
local base, book = KEYS[1], KEYS[1] .. ':fl:' .. ARGV[2]
local c, j, dead = base .. ':c', base .. ':j', base .. ':dead'
-- uses: fence_or_drain, check_hashes, is_claimed, group_of, bury_all, forget_dead, add, whole, ours
-- uses: probe_tenant, leave
check_hashes('at', 'cr', 'er', 'pr', 'cn')

local jobs, ids, status, known = {}, {}, {}, {}
local bytes = whole(redis.call('HGET', c, 'dead_bytes'))
for i = 6, #ARGV, 3 do
  local id = ARGV[i]
  local body = not known[id] and redis.call('ZSCORE', book, id) and redis.call('HGET', j, id)
  if body and is_claimed(body, ARGV[i + 2]) then
    local job = {id = id, group = group_of(body), size = #body, problem = ARGV[i + 1]}
    known[id], jobs[#jobs + 1], ids[#ids + 1], bytes = true, job, id, bytes + #body
    probe_tenant(job.group)
    ours('HLEN', base .. ':g:' .. job.group)
    status[#status + 1] = 'b'
  else
    status[#status + 1] = '0'
  end
end
if #jobs == 0 then return {table.concat(status), 0} end
local function is_over(count, size, at)
  return count > tonumber(ARGV[3]) or size > tonumber(ARGV[4]) or now - at > tonumber(ARGV[5])
end
local count = redis.call('ZCARD', dead) + #jobs
local evicts = is_over(count, bytes, redis.call('ZRANGE', dead, 0, 0, 'WITHSCORES')[2] or now)
local most, oldest = 2 * #jobs, {}
local page = evicts and redis.call('ZRANGE', dead, 0, most - 1, 'WITHSCORES') or {}
for k = 1, #page, 2 do
  local body = redis.call('HGET', j, page[k]) or ''
  local old = {id = page[k], group = group_of(body), size = #body, at = page[k + 1]}
  ours('HLEN', base .. ':g:' .. old.group)
  oldest[#oldest + 1] = old
end
-- uses: make_way
redis.call('ZREM', book, unpack(ids))
redis.call('HDEL', base .. ':pr', unpack(ids))
redis.call('HDEL', base .. ':cn', unpack(ids))
for _, id in ipairs(ids) do add(base .. ':at', id, 1) end
add(c, 'failed', #jobs)
local groups, died = bury_all(jobs)
for _, group in ipairs(groups) do leave(group, died[group]) end
for k = 1, evicts and math.min(#jobs, most - #oldest) or 0 do oldest[#oldest + 1] = jobs[k] end
local gone, names = {}, {}
for k, old in ipairs(oldest) do
  if not is_over(count - #gone, bytes, old.at or now) then break end
  gone[k], names[k], bytes = old, old.id, bytes - old.size
end
if #gone > 0 then
  redis.call('ZREM', dead, unpack(names))
  forget_dead(gone, 'evicted')
end
return {table.concat(status), #gone}
