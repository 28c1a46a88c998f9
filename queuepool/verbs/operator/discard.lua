#!lua flags=allow-oom
-- discard: delete dead jobs permanently.
-- ROLES   ops
-- KEYS[1] base; derived: dead j c at cr er g:<group> u uk ex lm ga fo wk
-- ARGV    ids (1-200)
-- Returns how many were deleted: not those that are not dead, or whose group is on its way to
--         another partition. O(n).
local base, c = KEYS[1], KEYS[1] .. ':c'
-- uses: check_hashes, group_of, forget_dead, ours
local jobs, gone = {}, {}
check_hashes('c', 'at', 'cr', 'er')
for i, id in ipairs(ARGV) do
  local body = redis.call('HGET', base .. ':j', id) or ''
  jobs[i] = {id = id, group = group_of(body), size = #body}
  jobs[i].moving = #body > 0 and ours('HGET', base .. ':g:' .. jobs[i].group, 'moving')
end
-- uses: make_way
for _, job in ipairs(jobs) do
  if not job.moving and redis.call('ZREM', base .. ':dead', job.id) == 1 then
    gone[#gone + 1] = job
  end
end
if #gone > 0 then forget_dead(gone, 'discarded') end
return #gone
