#!lua flags=allow-oom
-- bury: move running jobs that will not be retried to dead, and keep dead within its bounds.
-- ROLES   consumer ops
-- KEYS[1] base; derived: o dr c j fl:<epoch> dead at cr er pr cn g:<group> mg mv ring:<0-3>
--         tr:<0-3>:<tenant> tn:<tenant> mt tt:<tenant> u uk ex lm ga dl wk fo
-- ARGV    nonce, epoch, dead jobs kept, dead bytes kept, ms a dead job is kept, then n * (id,
--         error, stamp of the body that was claimed ('': whichever))
-- Returns {one character per job: b buried, 0 not in flight here or another body; evicted}; or
--         {FENCED, current epoch}.
-- For each job buried at most two of the oldest are evicted, and counted, also in their groups; not
-- those that are being copied, which count as gone. A draining owner may.
local base, book = KEYS[1], KEYS[1] .. ':fl:' .. ARGV[2]
local c, j, dead = base .. ':c', base .. ':j', base .. ':dead'
-- uses: fence_or_drain, check_hashes, is_claimed, group_of, bury_all, forget_dead, add, whole, ours
-- uses: probe_tenant, leave, moves/is_closed
check_hashes('at', 'cr', 'er', 'pr', 'cn')

local asked, jobs, ids, status, known, seen_groups = {}, {}, {}, {}, {}, {}
for i = 6, #ARGV, 3 do asked[#asked + 1] = ARGV[i] end
if #asked == 0 then return {'', 0} end -- commands below want an id
local booked = redis.call('ZMSCORE', book, unpack(asked))
local bodies = redis.call('HMGET', j, unpack(asked))
local bytes = whole(redis.call('HGET', c, 'dead_bytes'))
for k, id in ipairs(asked) do
  local body = not known[id] and booked[k] and bodies[k]
  if body and is_claimed(body, ARGV[3 * k + 5]) then
    local job = {id = id, group = group_of(body), size = #body, problem = ARGV[3 * k + 4]}
    known[id], jobs[#jobs + 1], ids[#ids + 1], bytes = true, job, id, bytes + #body
    if not seen_groups[job.group] then
      seen_groups[job.group] = true
      probe_tenant(job.group)
      ours('HLEN', base .. ':g:' .. job.group)
    end
    status[k] = 'b'
  else
    status[k] = '0'
  end
end
if #jobs == 0 then return {table.concat(status), 0} end
local attempts = redis.call('HMGET', base .. ':at', unpack(ids))
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
  old.closed = is_closed(old.group)
  oldest[#oldest + 1] = old
end
-- uses: make_way
redis.call('ZREM', book, unpack(ids))
redis.call('HDEL', base .. ':pr', unpack(ids))
redis.call('HDEL', base .. ':cn', unpack(ids))
local first = {} -- ids that have not failed before, and their attempts
for k, id in ipairs(ids) do
  if attempts[k] then
    add(base .. ':at', id, 1)
  else
    first[#first + 1], first[#first + 2] = id, 1
  end
end
if #first > 0 then redis.call('HSET', base .. ':at', unpack(first)) end
add(c, 'failed', #jobs)
local groups, died = bury_all(jobs)
for _, group in ipairs(groups) do leave(group, died[group]) end
for k = 1, evicts and math.min(#jobs, most - #oldest) or 0 do oldest[#oldest + 1] = jobs[k] end
local gone, names, left = {}, {}, count
for _, old in ipairs(oldest) do
  if not is_over(left, bytes, old.at or now) then break end
  left, bytes = left - 1, bytes - old.size
  if not old.closed then gone[#gone + 1], names[#names + 1] = old, old.id end
end
if #gone > 0 then
  redis.call('ZREM', dead, unpack(names))
  forget_dead(gone, 'evicted')
end
return {table.concat(status), #gone}
