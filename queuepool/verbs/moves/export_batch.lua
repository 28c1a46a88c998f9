#!lua flags=no-writes
-- export_batch: read a frozen batch, a page at a time.
-- ROLES   ops
-- KEYS[1] base; derived: c b:<batch> bb:<batch> bf:<batch> br:<batch>:<page>
-- ARGV    version of the route, batch, where to go on ('' to begin)
-- Returns {where to go on ('' at the end), now ms, what the page has (b: fields of the record, s:
--         bits, f: jobs that are not done, r: results; '': there is no such batch), the cursor, the
--         first byte or 0, and [field, value ...], [bytes], or [page, how many, number, result
--         ...]}; or {MOVED, least version}: that of the route is another one. O(2,000) fields.
local base, batch, cursor = KEYS[1], ARGV[2], ARGV[3]
-- uses: moves/current
-- uses: clock, ours
local b = base .. ':b:' .. batch
local kind, at = string.match(cursor, '^(%a)(%d+)$')
local top = ours('HMGET', b, 'top', 'state') or {}
if not top[2] then return {'', now, '', '0', {}} end
if kind == 's' then
  local bits = ours('GETRANGE', base .. ':bb:' .. batch, at, at + 65535) or ''
  local more = #bits == 65536 and string.format('s%.0f', at + 65536) or 'f0'
  return {more, now, 's', at, {bits}}
end
if kind == 'r' then
  local page, found, size = tonumber(at), {}, 0
  local pages = math.ceil(whole(top[1]) / 128)
  local last = math.min(pages, page + 16)
  while page < last and size < 1048576 do
    local name = string.format('%.0f', page)
    local results = ours('HGETALL', base .. ':br:' .. batch .. ':' .. name) or {}
    found[#found + 1], found[#found + 2] = name, #results / 2
    for k = 1, #results do
      found[#found + 1], size = results[k], size + #results[k]
    end
    page = page + 1
  end
  return {page < pages and string.format('r%.0f', page) or '', now, 'r', at, found}
end
local key, following = b, 's0'
if kind == 'f' then key, following = base .. ':bf:' .. batch, 'r0' end
local page = ours('HSCAN', key, at or '0', 'COUNT', kind == 'f' and 100 or 500) or {'0', {}}
if page[1] ~= '0' then following = (kind or 'b') .. page[1] end
return {following, now, kind or 'b', at or '0', page[2]}
