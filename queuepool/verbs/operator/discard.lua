#!lua flags=allow-oom
-- discard: delete dead jobs permanently.
-- ROLES   ops
-- KEYS[1] base; derived: dead j c at cr er g:<group> u uk ex lm ga fo wk
-- ARGV    ids (1-200)
-- Returns how many were dead. O(n).
local base, c, n = KEYS[1], KEYS[1] .. ':c', 0
-- uses: check_hashes, group_of, forget_dead, ours
local groups, sizes = {}, {}
check_hashes('c', 'at', 'cr', 'er')
for i, id in ipairs(ARGV) do
  local body = redis.call('HGET', base .. ':j', id)
  if body then
    groups[i], sizes[i] = base .. ':g:' .. group_of(body), #body
    ours('HLEN', groups[i])
  end
end
-- uses: make_way
for i, id in ipairs(ARGV) do
  if redis.call('ZREM', base .. ':dead', id) == 1 then
    n = n + 1
    forget_dead(id, groups[i], sizes[i] or 0, 'discarded')
  end
end
return n
