#!lua flags=no-writes
-- walk: name the task groups that have jobs, and dead jobs, a page at a time.
-- ROLES   ops
-- KEYS[1] base; derived: j dead
-- ARGV    cursor ('0' to begin), how many jobs to look at, about
-- Returns {next cursor ('0' when done), [slot (3 hex digits), group, id of a dead job or '' ...]}
--         with a group once a page, and once for each dead job. A page may be empty. O(jobs
--         of the page).
local base, found, known = KEYS[1], {}, {}
-- uses: group_of
redis.call('ZCARD', base .. ':dead')
local page = redis.call('HSCAN', base .. ':j', ARGV[1], 'COUNT', ARGV[2])
for i = 1, #page[2], 2 do
  local id, body = page[2][i], page[2][i + 1]
  local slot, group = string.match(body, '^.............(%x%x%x)'), group_of(body)
  local died = redis.call('ZSCORE', base .. ':dead', id)
  if slot and (died or not known[group]) then
    local n = #found
    found[n + 1], found[n + 2], found[n + 3] = slot, group, died and id or ''
    known[group] = true
  end
end
return {page[1], found}
