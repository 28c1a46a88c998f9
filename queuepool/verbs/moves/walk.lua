#!lua flags=no-writes
-- walk: name the task groups that have jobs, and dead jobs, a page at a time; or others.
-- ROLES   ops
-- KEYS[1] base; derived: j dead mt mv mn bd b:<batch>
--         g:<group>
-- ARGV    cursor ('0' to begin), how many jobs, or keys of the server, to look at, about, which
--         ('': groups with jobs, 't': tenants that have settings, 'm': groups that are frozen, 'n':
--         groups that were configured while slots move, 'r': groups that have a record, 'b':
--         batches)
-- Returns {next cursor ('0' when done), [slot (3 hex digits), group, id of a dead job, or how many
--         of the page are not dead: '=' and the number ...]} with a group once a page, and once for
--         each dead job; or [tenant ...]; or [batch ...]; or [slot ('': the record does not say),
--         group ...]. A page may be empty. O(jobs of the page); for 'r' all pages look at all keys
--         of the server.
local base, found, known, live = KEYS[1], {}, {}, {}
-- uses: group_of, ours
-- One that has left is gone but for the least stamp of its seats
local function name(group)
  local f = ours('HMGET', base .. ':g:' .. group, 'slot', 'total', 'keep') or {}
  if f[1] or f[2] or f[3] then found[#found + 1], found[#found + 2] = f[1] or '', group end
end
if ARGV[3] == 't' then
  local page = redis.call('HSCAN', base .. ':mt', ARGV[1], 'COUNT', ARGV[2])
  for i = 1, #page[2], 2 do found[#found + 1] = page[2][i] end
  return {page[1], found}
end
if ARGV[3] == 'b' then
  local page = redis.call('ZSCAN', base .. ':bd', ARGV[1], 'COUNT', ARGV[2])
  for i = 1, #page[2], 2 do
    local batch = page[2][i]
    if ours('HEXISTS', base .. ':b:' .. batch, 'state') == 1 then found[#found + 1] = batch end
  end
  return {page[1], found}
end
if ARGV[3] == 'r' then
  local prefix = base .. ':g:'
  local page = redis.call('SCAN', ARGV[1], 'MATCH', prefix .. '*', 'COUNT', ARGV[2])
  for _, key in ipairs(page[2]) do name(string.sub(key, #prefix + 1)) end
  return {page[1], found}
end
if ARGV[3] ~= '' then
  local groups = ARGV[3] == 'm' and base .. ':mv' or base .. ':mn'
  local page = redis.call('SSCAN', groups, ARGV[1], 'COUNT', ARGV[2])
  for _, group in ipairs(page[2]) do name(group) end
  return {page[1], found}
end
local page = redis.call('HSCAN', base .. ':j', ARGV[1], 'COUNT', ARGV[2])
local ids = {}
for i = 1, #page[2], 2 do ids[#ids + 1] = page[2][i] end
-- uses: moves/of_all
local deaths = of_all(ids, 'ZMSCORE', base .. ':dead')
for k, id in ipairs(ids) do
  local body, died = page[2][2 * k], deaths[k]
  local slot, group = string.match(body, '^.............(%x%x%x)'), group_of(body)
  if slot and (died or not known[group]) then
    local n = #found
    found[n + 1], found[n + 2], found[n + 3] = slot, group, died and id or ''
    if not died then known[group] = n + 3 end
  end
  if slot and not died then live[group] = (live[group] or 0) + 1 end
end
for group, n in pairs(live) do found[known[group]] = '=' .. n end
return {page[1], found}
