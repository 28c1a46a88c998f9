#!lua flags=allow-oom
-- rouse: make jobs due at once that were set aside for tasks known to this owner, or while their
--        tasks were held.
-- ROLES   consumer ops
-- KEYS[1] base; derived: o c j dl du ua ht mv g:<group>
-- ARGV    nonce, epoch, cursor ('0' to begin, then what the last call returned), names of known
--         tasks
-- Returns {next cursor ('0' when done), [task, jobs that waited for it to be known ...], how many
--         jobs became due}; or {FENCED, current epoch}. It keeps their order, and is idempotent.
--         Checks about 200 jobs. From the first call to the last, released tasks are on record as
--         1, then no more; or as 2 if jobs of them stay, as their groups are being copied: `thaw`
--         lets it begin again.
local base, c, dl = KEYS[1], KEYS[1] .. ':c', KEYS[1] .. ':dl'
-- uses: fence, clock, until_release, is_held, check_hashes, move_due, group_of, moves/is_closed
local known, counts, held = {}, {}, {}
for i = 4, #ARGV do known[ARGV[i]] = true end
redis.call('ZCARD', base .. ':du')
local recorded = redis.call('HGETALL', base .. ':ht')
local page = redis.call('HSCAN', base .. ':ua', ARGV[3], 'COUNT', 200)
local due, shift = {}, 120000 -- ms; the longest time that a job is set aside
local passed = {}
local function stays(id)
  local body = any_moves and redis.call('HGET', base .. ':j', id)
  return body and is_closed(group_of(body))
end
for i = 1, #page[2], 2 do
  local id, task = page[2][i], page[2][i + 1]
  local at = tonumber(redis.call('ZSCORE', dl, id) or 0)
  if held[task] == nil then held[task] = is_held(task) end
  local waits = waits_for_release(at)
  local free = waits and not held[task] or not waits and known[task]
  if free and stays(id) then
    passed[task] = true
  elseif free and waits then
    due[#due + 1] = {id, at, until_release}
  elseif free then
    counts[task] = (counts[task] or 0) + 1
    if at > now + 1 then
      due[#due + 1] = {id, at, 0}
      shift = math.max(shift, at - now)
    end
  end
end
-- uses: make_way
for i = 1, #recorded, 2 do
  local task, how = recorded[i], recorded[i + 1]
  if ARGV[3] == '0' and string.find(how, '^[02]$') then
    redis.call('HSET', base .. ':ht', task, 1)
    how = '1'
  end
  if how == '1' and passed[task] then redis.call('HSET', base .. ':ht', task, 2) end
end
-- This keeps their order
for _, job in ipairs(due) do move_due(job[1], job[2] - job[3] - shift) end
for i = 1, page[1] == '0' and #recorded or 0, 2 do
  local task = recorded[i]
  if redis.call('HGET', base .. ':ht', task) == '1' then
    redis.call('HDEL', base .. ':ht', task)
  end
end
local told = {}
for task, n in pairs(counts) do
  told[#told + 1] = task
  told[#told + 1] = n
end
return {page[1], told, #due}
