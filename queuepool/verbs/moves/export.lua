#!lua flags=no-writes
-- export: read jobs of a frozen task group, with everything that is known of them.
-- ROLES   ops
-- KEYS[1] base; derived: c j dl dead at cr er ua uk ex lm g:<group> q:<0-3>:<group> dg:<group>
--         gg:<group> gq:<tier>:<gate>~<group>
-- ARGV    version of the route, group, how many (1-200), bytes of bodies, then ids of dead jobs
--         (none: jobs that are not dead, in the order in which they are to arrive)
-- Returns {[field, value ...] of the group's record, [id, place (l: in a lane or at a gate, d:
--         delayed, x: dead), ms until it is due or since it died, body, failed attempts, crashes,
--         last error, unique key as in uk, ms by which it is to start, gate, task that it waits for
--         ...]}, with '' for what there is not; or {MOVED, least version}. At least one job is
--         among them, whatever its size. O(jobs), and marks of cancelled ones before them.
local base, group, limit, budget = KEYS[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
-- uses: moves/current
-- uses: clock, ours, group_of, gate_of, stamp_of
local ids, seen, jobs, j = {}, {}, {}, base .. ':j'
local record = ours('HGETALL', base .. ':g:' .. group) or {}
local function take(found)
  for k, body in ipairs(#found > 0 and redis.call('HMGET', j, unpack(found)) or {}) do
    if #ids < limit and body and not seen[found[k]] and group_of(body) == group then
      seen[found[k]] = body
      ids[#ids + 1] = found[k]
    end
  end
end
local function take_list(list) -- past up to 10,000 marks
  local at, page = 0, {}
  repeat
    page = ours('LRANGE', list, at, at + limit - 1) or {}
    take(page)
    at = at + limit
  until #page < limit or #ids >= limit or at >= 10000
end
local function take_gates()
  local page = {'0'}
  repeat
    page = ours('SSCAN', base .. ':gg:' .. group, page[1], 'COUNT', 100) or {'0', {}}
    for _, place in ipairs(page[2]) do
      if #ids < limit then take_list(base .. ':gq:' .. place .. '~' .. group) end
    end
  until page[1] == '0'
end
if #ARGV > 4 then
  take({unpack(ARGV, 5)})
else
  -- The head of a serial group may wait at its gate: the others come after it
  local serial = ours('HGET', base .. ':g:' .. group, 'serial')
  if serial then take_gates() end
  for t = 0, 3 do if #ids < limit then take_list(base .. ':q:' .. t .. ':' .. group) end end
  if not serial then take_gates() end
  -- Any of them, since all have times: a scan from the start would pass what has left before
  take(#ids < limit and ours('SRANDMEMBER', base .. ':dg:' .. group, limit) or {})
end
-- uses: moves/of_all
local wanted, due, died = {}, {}, {}
local dues, deaths = of_all(ids, 'ZMSCORE', base .. ':dl'), of_all(ids, 'ZMSCORE', base .. ':dead')
for k, id in ipairs(ids) do
  if (#ARGV > 4) == (deaths[k] ~= false) then
    budget = budget - #seen[id]
    if budget < 0 and #wanted > 0 then break end
    wanted[#wanted + 1], due[id], died[id] = id, dues[k], deaths[k]
  end
end
local known = {}
for _, k in ipairs({'at', 'cr', 'er', 'uk', 'ex', 'lm', 'ua'}) do
  local key = base .. ':' .. k
  known[k] = redis.call('HLEN', key) > 0 and of_all(wanted, 'HMGET', key) or {}
end
for k, id in ipairs(wanted) do
  local body, place, ms = seen[id], 'l', 0
  if died[id] then place, ms = 'x', math.max(0, now - died[id]) end
  if due[id] then place, ms = 'd', due[id] - now end -- below 0: it is due, and keeps its order
  local said = known.ex[k]
  local by = said and tonumber(string.sub(said, 1, 11), 16) == stamp_of(body)
    and tonumber(string.sub(said, 12))
  local gate = known.lm[k] and select(2, gate_of(known.lm[k]))
  local n = #jobs
  jobs[n + 1], jobs[n + 2], jobs[n + 3], jobs[n + 4] = id, place, string.format('%.0f', ms), body
  jobs[n + 5], jobs[n + 6] = known.at[k] or '', known.cr[k] or ''
  jobs[n + 7], jobs[n + 8] = known.er[k] or '', known.uk[k] or ''
  jobs[n + 9] = by and string.format('%.0f', math.max(1, by - now)) or ''
  jobs[n + 10], jobs[n + 11] = gate or '', known.ua[k] or ''
end
return {record, jobs}
