#!lua flags=allow-oom
-- rouse: make jobs due at once that were set aside for tasks known to this owner.
-- ROLES   consumer ops
-- KEYS[1] base; derived: o c dl ua
-- ARGV    nonce, epoch, cursor ('0' to begin, then what the last call returned), names of known
--         tasks
-- Returns {next cursor ('0' when done), [task, jobs that waited for it ...]}; or {FENCED, current
--         epoch}. It keeps their order, and is idempotent. Checks about 200 jobs.
local base, c, dl = KEYS[1], KEYS[1] .. ':c', KEYS[1] .. ':dl'
-- uses: fence, clock
local known, due, counts, shift = {}, {}, {}, 120000 -- ms; the longest time that a job is set aside
for i = 4, #ARGV do known[ARGV[i]] = true end
local page = redis.call('HSCAN', base .. ':ua', ARGV[3], 'COUNT', 200)
for i = 1, #page[2], 2 do
  local id, task = page[2][i], page[2][i + 1]
  if known[task] then
    counts[task] = (counts[task] or 0) + 1
    local at = tonumber(redis.call('ZSCORE', dl, id) or 0)
    if at > now + 1 then
      due[#due + 1] = {id, at}
      shift = math.max(shift, at - now)
    end
  end
end
-- This keeps their order
for _, job in ipairs(due) do redis.call('ZADD', dl, job[2] - shift, job[1]) end
local told = {}
for task, n in pairs(counts) do
  told[#told + 1] = task
  told[#told + 1] = n
end
return {page[1], told}
