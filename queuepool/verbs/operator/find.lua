#!lua flags=no-writes
-- find: list the jobs of a kind that match, a bounded part at a time.
-- ROLES   coordinator ops-read ops
-- KEYS[1] base; derived: j dl dead o dr rec fl:<epochs> at cr er lm q:<tier>:<group>
-- ARGV    kind (dead, delayed, in-flight, waiting: ready in the lanes of the group, any: all, id:
--         the job whose id is the cursor), state (dead, delayed, in-flight, parked, ready; '' any),
--         cursor ('' to begin), jobs to look at (1-500), jobs to return (0: only count; 1-200),
--         newest first (1) or not, since ms, until ms (0: any), how an envelope begins (''), group
--         (''), text in the error (''), bytes of a body to return at most (above 4096: errors with
--         their tracebacks)
-- Returns {next cursor ('' at the end), looked at, matching, now ms, [id, state, ms (of death, due,
--         of the start; 0: none), body, failed attempts, crashes, error] ...}. The text is looked
--         for in the stored error without its traceback, in lower case. Of kind any: in no order,
--         and all that match are returned. A job that changes its place meanwhile may be missed, or
--         be seen twice. O(looked at + log n).
local base, kind, state, cursor = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local look, most, newest = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6] == '1'
local since, till = tonumber(ARGV[7]), tonumber(ARGV[8])
local begins, group, text, bytes = ARGV[9], ARGV[10], ARGV[11], tonumber(ARGV[12])
local j, rows, matching, looked, size = base .. ':j', {}, 0, 0, 0
-- uses: clock, group_of, who_owns, epochs_in_flight, find/brief, find/pages
local function note(id, at, is)
  looked = looked + 1
  local er
  if text ~= '' then -- first, as this leaves out most
    er = redis.call('HGET', base .. ':er', id)
    if not er or not string.find(string.lower(brief(er)), text, 1, true) then return end
  end
  local body = redis.call('HGET', j, id)
  if not body then return end
  size = size + #body
  local ms = math.floor(tonumber(at) or 0)
  if is == 'in-flight' and ms < 1e12 then ms = 0 end
  local when = ms > 0 and ms or tonumber(string.sub(body, 3, 13), 16) or 0
  if since > when or till > 0 and till < when then return end
  local named = group_of(body)
  if group ~= '' and group ~= named then return end
  if begins ~= '' and string.sub(body, 19 + #named, 18 + #named + #begins) ~= begins then return end
  matching = matching + 1
  if most == 0 then return end
  er = er or redis.call('HGET', base .. ':er', id) or ''
  rows[#rows + 1] = {id, is, ms, string.sub(body, 1, bytes),
    tonumber(redis.call('HGET', base .. ':at', id) or 0) or 0,
    tonumber(redis.call('HGET', base .. ':cr', id) or 0) or 0,
    bytes > 4096 and er or brief(er)}
end
local function full() return size > 4194304 or most > 0 and #rows >= most end
local follows = ''
if kind == 'dead' or kind == 'delayed' then
  local set = base .. (kind == 'dead' and ':dead' or ':dl')
  local rank, last = bounds(set)
  if rank and most == 0 and begins == '' and group == '' and text == '' then
    return {'', 0, math.abs(last - rank) + 1, now} -- all of them match
  end
  while rank and looked < look and not full() do
    local page = ranks(set, rank, last, math.min(50, look - looked))
    if #page == 0 then break end
    for i = 1, #page, 2 do
      note(page[i], page[i + 1], kind)
      rank = rank + (newest and -1 or 1)
      follows = page[i + 1] .. ':' .. page[i]
      if full() then break end
    end
  end
  if not rank or (newest and rank < last or not newest and rank > last) then follows = '' end
elseif kind == 'id' then
  local is, at = place_of(cursor)
  if state == '' or state == is then note(cursor, at, is) end
elseif kind == 'any' then
  local page = redis.call('HSCAN', j, cursor == '' and '0' or cursor, 'COUNT', look)
  for i = 1, #page[2], 2 do
    local id = page[2][i]
    local is, at = place_of(id)
    if state == '' or state == is then note(id, at, is) end
  end
  looked = math.max(looked, #page[2] / 2)
  follows = page[1] == '0' and '' or page[1]
else
  local at, offset = string.match(cursor, '^(%d+):(%d+)$')
  local lists = kind == 'waiting' and {'0', '1', '2', '3'} or epochs
  local i, from = 1, tonumber(offset or 0)
  while at and lists[i] and lists[i] ~= at do i = i + 1 end
  while lists[i] and looked < look and not full() do
    local page = members(kind, lists[i], from, math.min(50, look - looked))
    for n = 1, #page, 2 do
      note(page[n], page[n + 1], kind == 'waiting' and 'ready' or kind)
      from = from + 1
      if full() then break end
    end
    if #page == 0 then i, from = i + 1, 0 end
  end
  follows = lists[i] and lists[i] .. ':' .. from or ''
end
return {follows, looked, matching, now, unpack(rows)}
