#!lua flags=no-writes
-- walk: name the task groups that have jobs, and dead jobs, a page at a time; or others.
-- ROLES   ops
-- KEYS[1] base; derived: j dead mt mv g:<group>
-- ARGV    cursor ('0' to begin), how many jobs to look at, about, which ('': groups with jobs, 't':
--         tenants that have settings, 'm': groups that are frozen)
-- Returns {next cursor ('0' when done), [slot (3 hex digits), group, id of a dead job, or how many
--         of the page are not dead: '=' and the number ...]} with a group once a page, and once for
--         each dead job; or [tenant ...]; or [slot, group ...]. A page may be empty. O(jobs of the
--         page).
local base, found, known, live = KEYS[1], {}, {}, {}
-- uses: group_of, ours
if ARGV[3] == 't' then
  local page = redis.call('HSCAN', base .. ':mt', ARGV[1], 'COUNT', ARGV[2])
  for i = 1, #page[2], 2 do found[#found + 1] = page[2][i] end
  return {page[1], found}
end
if ARGV[3] == 'm' then
  local page = redis.call('SSCAN', base .. ':mv', ARGV[1], 'COUNT', ARGV[2])
  for _, group in ipairs(page[2]) do
    local slot = ours('HGET', base .. ':g:' .. group, 'slot')
    if slot then found[#found + 1], found[#found + 2] = slot, group end
  end
  return {page[1], found}
end
local page = redis.call('HSCAN', base .. ':j', ARGV[1], 'COUNT', ARGV[2])
for i = 1, #page[2], 2 do
  local id, body = page[2][i], page[2][i + 1]
  local slot, group = string.match(body, '^.............(%x%x%x)'), group_of(body)
  local died = redis.call('ZSCORE', base .. ':dead', id)
  if slot and (died or not known[group]) then
    local n = #found
    found[n + 1], found[n + 2], found[n + 3] = slot, group, died and id or ''
    if not died then known[group] = n + 3 end
  end
  if slot and not died then live[group] = (live[group] or 0) + 1 end
end
for group, n in pairs(live) do found[known[group]] = '=' .. n end
return {page[1], found}
