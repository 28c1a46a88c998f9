#!lua flags=allow-oom
-- cancel_children: cancel the jobs of batches in a partition, one bounded step per call.
-- ROLES   producer ops
-- KEYS[1] base; derived: j dl du dg:<group> ua dead o dr rec c cx cn wk at cr er g:<group>
--         fl:<epochs> dn:<0|1> mg mv ring:<0-3> tr:<0-3>:<tenant> tn:<tenant> mt tt:<tenant> u uk
--         ex lm ga fo
-- ARGV    cursor ('0', then what the last call returned), ids at once, then batches
-- Returns {next cursor ('0' when done), waiting jobs cancelled, running jobs that are asked for the
--         first time, waiting jobs that stay, as they are being copied to another partition}. It
--         looks at every job of the partition: O(ids at once + batches) a call.
local base = KEYS[1]
local c, j = base .. ':c', base .. ':j'
local of = #ARGV == 3 and ARGV[3] or '*' -- of one batch, the server looks for its jobs alone
local page = redis.call('HSCAN', j, ARGV[1], 'MATCH', '??' .. of .. '~*', 'COUNT', ARGV[2])
if #page[2] == 0 then return {page[1], 0, 0, 0} end
local wanted = {}
for i = 3, #ARGV do wanted[ARGV[i]] = true end
-- uses: check_hashes, end_cancelled, leave_delayed, wake, group_of, ours, mark, probe_tenant
-- uses: moves/is_closed
check_hashes('c', 'cx', 'cn', 'at', 'cr', 'er', 'ua')
for _, k in ipairs({'dl', 'du'}) do redis.call('ZCARD', base .. ':' .. k) end
local jobs = {}
for i = 1, #page[2], 2 do
  local id, body = page[2][i], page[2][i + 1]
  local batch = string.match(id, '^..(.+)~')
  if wanted[batch] and not redis.call('ZSCORE', base .. ':dead', id) then
    local group = group_of(body)
    jobs[#jobs + 1] = {id = id, body = body, group = group, g = base .. ':g:' .. group,
      stays = is_closed(group)}
    ours('HLEN', base .. ':g:' .. group)
    ours('SCARD', base .. ':dg:' .. group)
    probe_tenant(group)
  end
end
-- uses: who_owns, epochs_in_flight
for _, job in ipairs(jobs) do
  for _, e in ipairs(epochs) do
    job.runs = job.runs or redis.call('ZSCORE', base .. ':fl:' .. e, job.id)
  end
end
-- uses: make_way
local gone, asked, left, runs = 0, 0, 0, false
for _, job in ipairs(jobs) do
  if job.runs then
    runs = true
    asked = asked + redis.call('HSET', base .. ':cn', job.id, now)
  elseif job.stays then
    left = left + 1
  else
    gone = gone + 1
    if not leave_delayed(job.id, job.group) then mark(job.id, job.body) end
    end_cancelled(job.id, job.g, #job.body)
  end
end
if runs then wake('c') end
return {page[1], gone, asked, left}
