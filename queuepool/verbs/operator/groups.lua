#!lua flags=no-writes
-- groups: list the task groups of a partition that have jobs left, a bounded part at a time.
-- ROLES   coordinator ops-read ops
-- KEYS[1] base; derived: ring:<0-3> tr:<0-3>:<tenant> mg mt gt gr:<0-3>:<gate> g:<group> j dl
--         o dr rec fl:<epochs>
-- ARGV    places to look at (1-500), order (size, age), only groups with more jobs left than this
--         (size), or created before this ms (age; 0: any), then lists and where to go on in them:
--         [list, cursor ('' to begin)] ...; to begin with all of ring:0 to ring:3, mg, mt, gt,
--         dl and fl
-- Returns {now ms, looked at, [list, cursor, of what is to be looked at next ...], [group, total,
--         left, delayed, parked, dead, created ms, held since ms (0: it is not)] ...}. Nothing is
--         next at the end. A group may come again, from another list or tier, or as it had its turn
--         meanwhile; one that changes its list meanwhile may be missed. Lists of tenants, gates
--         and owners are found on the way. Of more than 10,000 delayed jobs as many, evenly spread,
--         are looked at: a small group that has no others may be missed. O(places looked at).
-- uses: clock, whole, group_of
local base, most, by_age, least = KEYS[1], tonumber(ARGV[1]), ARGV[2] == 'age', tonumber(ARGV[3])
local looked, seen, rows, lists, cursors, known = 0, {}, {}, {}, {}, {}
local bytes, most_bytes = 0, 4194304 -- of jobs that were read
for i = 4, #ARGV, 2 do
  lists[#lists + 1], cursors[#cursors + 1] = ARGV[i], ARGV[i + 1]
  known[ARGV[i]] = true
end
local function note(group)
  if seen[group] then return end
  seen[group] = true
  local key = base .. ':g:' .. group
  local rank = redis.pcall('HGET', key, by_age and 'created' or 'left') -- most are no better
  rank = type(rank) == 'string' and whole(rank) or 0
  if rank <= 0 or by_age and least > 0 and rank >= least or not by_age and rank <= least then
    return
  end
  local f = redis.pcall('HMGET', key, 'total', 'left', 'delayed', 'parked', 'dead', 'created',
    'hold')
  local left = whole(f[2])
  if left <= 0 then return end
  rows[#rows + 1] = {group, whole(f[1]), left, whole(f[3]), whole(f[4]), whole(f[5]),
    whole(f[6]), whole(f[7])}
end
local function follow(list) -- also look at this one, in this call or a later one
  if known[list] then return end
  known[list] = true
  lists[#lists + 1], cursors[#cursors + 1] = list, ''
end
-- Where to go on in a list whose elements move from the front to the back meanwhile: after the last
-- one that was read, or half a part before, so that hardly any is missed and it comes to an end
local function resume(key, cursor)
  local offset, last = string.match(cursor, '^(%d+):(.*)$')
  offset = tonumber(offset) or 0
  if not last or redis.pcall('LINDEX', key, offset - 1) == last then return offset end
  local from = math.max(0, offset - math.ceil(most / 2))
  local before = redis.pcall('LRANGE', key, from, offset - 1)
  for k = #before, 1, -1 do
    if before[k] == last then return from + k end
  end
  return from
end
local function in_list(list, cursor)
  local key = base .. ':' .. list
  if string.sub(list, 1, 5) == 'ring:' then redis.call('LLEN', key) end -- tells another type
  local offset, wanted = resume(key, cursor), math.max(1, most - looked)
  -- Of any type, as producers may write it; an error has no elements
  local page = redis.pcall('LRANGE', key, offset, offset + wanted - 1)
  looked = looked + #page
  for _, place in ipairs(page) do
    local tier = string.match(place, '^[4-7]')
    if string.sub(list, 1, 3) == 'gr:' then
      note(place)
    elseif not tier then
      note(string.sub(place, 13))
    elseif string.sub(list, 1, 5) == 'ring:' then
      follow('tr:' .. tier - 4 .. ':' .. string.sub(place, 13))
    end
  end
  return #page == wanted and string.format('%d:', offset + wanted) .. page[#page] or ''
end
local function in_hash(list, cursor)
  local page = redis.call('HSCAN', base .. ':' .. list, cursor == '' and '0' or cursor, 'COUNT',
    math.max(1, most - looked))
  looked = looked + #page[2] / 2
  for i = 1, #page[2], 2 do
    local name = page[2][i]
    if list == 'mg' then note(name) end
    -- Other tenants have a seat in a ring
    local stem = list == 'gt' and 'gr:' or list == 'mt' and page[2][i + 1] == '0' and 'tr:'
    for t = 0, stem and 3 or -1 do follow(stem .. t .. ':' .. name) end
  end
  return page[1] == '0' and '' or page[1]
end
-- Delayed jobs, by time, or those of an owner: from which rank on, and each how manyth
local function in_jobs(list, cursor)
  local key = base .. ':' .. list
  local all, rank, step = redis.call('ZCARD', key), string.match(cursor, '^(%d+)/(%d+)$')
  rank, step = tonumber(rank) or 0, tonumber(step) or math.max(1, math.floor(all / 10000))
  repeat
    local n = step == 1 and math.max(1, math.min(50, most - looked)) or 1
    for _, id in ipairs(redis.call('ZRANGE', key, rank, rank + n - 1)) do
      local body = redis.call('HGET', base .. ':j', id) or ''
      if body ~= '' then note(group_of(body)) end
      bytes = bytes + #body
    end
    rank, looked = rank + n * step, looked + n
  until looked >= most or rank >= all or bytes > most_bytes
  return rank < all and string.format('%d/%d', rank, step) or ''
end
local function in_owners()
  -- uses: who_owns, epochs_in_flight
  for _, epoch in ipairs(epochs) do follow('fl:' .. epoch) end
  return ''
end
local function look_into(list)
  if list == 'mg' or list == 'mt' or list == 'gt' then return in_hash end
  if list == 'fl' then return in_owners end
  return (list == 'dl' or string.sub(list, 1, 3) == 'fl:') and in_jobs or in_list
end
local i = 1
while lists[i] and looked < most and bytes <= most_bytes do
  looked = looked + 1
  cursors[i] = look_into(lists[i])(lists[i], cursors[i])
  if cursors[i] == '' then i = i + 1 end
end
local following = {}
for k = i, #lists do
  following[#following + 1], following[#following + 2] = lists[k], cursors[k]
end
return {now, looked, following, unpack(rows)}
