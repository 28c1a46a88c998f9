#!lua flags=allow-oom
-- retry: send running jobs back to delayed, to run again when their delay is over.
-- ROLES   consumer ops
-- KEYS[1] base; derived: o dr c j fl:<epoch> dl du dg:<group> ua at cr er pr cn g:<group> dn:<0|1>
--         mg ring:<0-3> tr:<0-3>:<tenant> tn:<tenant> mt tt:<tenant> u uk ex lm ga wk fo
-- ARGV    nonce, epoch, then n * (id, delay ms, charge (1: a failed attempt, 0: none, ':' and a
--         task: set aside), error or '', stamp of the body that was claimed ('': whichever))
-- Returns one character per job: r retried, c cancelled instead (as requested), 0 not in this
--         in-flight set or another body; or {FENCED, current epoch}. A draining owner may call it.
--         O(n log delayed).
local base, book = KEYS[1], KEYS[1] .. ':fl:' .. ARGV[2]
local c, j = base .. ':c', base .. ':j'
-- uses: fence_or_drain, check_hashes, end_cancelled, is_cancelled, is_claimed, group_of, delay, add
-- uses: tier_of, whole, ours, note_start, managed, tune, probe_tenant, leave
local bodies = {}
redis.call('ZCARD', base .. ':dl')
redis.call('ZCARD', base .. ':du')
check_hashes('c', 'at', 'cr', 'er', 'pr', 'cn', 'ua')
for i = 3, #ARGV, 5 do
  local body = redis.call('HGET', j, ARGV[i])
  if body and is_claimed(body, ARGV[i + 4]) and redis.call('ZSCORE', book, ARGV[i]) then
    local group = group_of(body)
    local g = base .. ':g:' .. group
    ours('SCARD', base .. ':dg:' .. group)
    probe_tenant(group)
    bodies[i] = {group = group, tier = tier_of(body), g = g, size = #body,
      cancelled = is_cancelled(ARGV[i], body, g)}
  end
end
-- uses: make_way
-- A job set aside later is due later, whatever its pause, so that a group keeps its order over many
-- rounds.
-- uses: behind
local status, aside = {}, false
redis.call('HSET', c, 'tried', 1)
for i = 3, #ARGV, 5 do
  local id, job = ARGV[i], bodies[i]
  if not job or redis.call('ZREM', book, id) == 0 then
    status[#status + 1] = '0'
  else
    redis.call('HDEL', base .. ':pr', id)
    if job.cancelled then
      end_cancelled(id, job.g, job.size)
    else
      local charge = ARGV[i + 2]
      local due = now + ARGV[i + 1]
      if string.sub(charge, 1, 1) == ':' then
        redis.call('HSET', base .. ':ua', id, string.sub(charge, 2))
        aside, behind = true, math.max(behind, due)
        due = behind + i / 4096
      elseif special then
        note_start({id})
      end
      delay(id, job.tier, job.group, due)
      if managed then
        if redis.call('HEXISTS', job.g, 'serial') == 1 then redis.call('HSET', job.g, 'rt', id) end
        tune(job.group)
      end
      add(c, 'retried', 1)
      if charge == '1' then
        add(base .. ':at', id, 1)
        add(c, 'failed', 1)
      end
      if ARGV[i + 3] ~= '' then redis.call('HSET', base .. ':er', id, ARGV[i + 3]) end
    end
    leave(job.group, 1)
    status[#status + 1] = job.cancelled and 'c' or 'r'
  end
end
if aside then redis.call('HSET', c, 'aside', string.format('%.0f', behind + 1)) end
return table.concat(status)
