#!lua flags=no-writes
-- export: read jobs of a frozen task group, with everything that is known of them.
-- ROLES   ops
-- KEYS[1] base; derived: c j dl dead at cr er ua uk ex lm g:<group> q:<0-3>:<group> dg:<group>
--         gg:<group> gq:<tier>:<gate>~<group>
-- ARGV    version of the route, group, how many (1-200), bytes of bodies, then ids of dead jobs
--         (none: jobs that are not dead, in the order in which they are to arrive)
-- Returns {[field, value ...] of the group's record, [id, body, place ...]}; or {MOVED, least
--         version}. A place is '' of a job in a lane of which nothing else is known, as of most;
--         or l (in a lane or at a gate), d (delayed) or x (dead), and then come: ms until it is due
--         or since it died, failed attempts, crashes, last error, unique key as in uk, ms by which
--         it is to start, gate, task that it waits for, with '' for what there is not. At least one
--         job is among them, whatever its size. O(jobs), and marks of cancelled ones before them.
local base, group, limit, budget = KEYS[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
-- uses: moves/current
-- uses: clock, ours, gate_of, stamp_of, is_of_group
local ids, bodies, seen, jobs, j = {}, {}, {}, {}, base .. ':j'
local record = ours('HGETALL', base .. ':g:' .. group) or {}
local function take(found)
  local n = #ids
  for k, body in ipairs(#found > 0 and redis.call('HMGET', j, unpack(found)) or {}) do
    local id = found[k]
    if n < limit and body and not seen[id] and is_of_group(body) then
      n = n + 1
      ids[n], bodies[n], seen[id] = id, body, true
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
local known, some = {}, {}
for k, command in pairs({dl = 'ZMSCORE', dead = 'ZMSCORE', at = 'HMGET', cr = 'HMGET', er = 'HMGET',
  uk = 'HMGET', ex = 'HMGET', lm = 'HMGET', ua = 'HMGET'}) do
  known[k] = of_all(ids, command, base .. ':' .. k)
  if #known[k] > 0 then some[#some + 1] = known[k] end
end
local function is_plain(k)
  for _, said in ipairs(some) do
    if said[k] then return false end
  end
  return true
end
local n = 0
for k, id in ipairs(ids) do
  local body, died, due = bodies[k], known.dead[k], known.dl[k]
  if (#ARGV > 4) == (died and true or false) then
    budget = budget - #body
    if budget < 0 and n > 0 then break end
    jobs[n + 1], jobs[n + 2], jobs[n + 3], n = id, body, '', n + 3
    if not is_plain(k) then
      local place, ms = 'l', 0
      if died then place, ms = 'x', math.max(0, now - died) end
      if due then place, ms = 'd', due - now end -- below 0: it is due, and keeps its order
      local said = known.ex[k]
      local by = said and tonumber(string.sub(said, 1, 11), 16) == stamp_of(body)
        and tonumber(string.sub(said, 12))
      local gate = known.lm[k] and select(2, gate_of(known.lm[k]))
      jobs[n], jobs[n + 1] = place, string.format('%.0f', ms)
      jobs[n + 2], jobs[n + 3] = known.at[k] or '', known.cr[k] or ''
      jobs[n + 4], jobs[n + 5] = known.er[k] or '', known.uk[k] or ''
      jobs[n + 6] = by and string.format('%.0f', math.max(1, by - now)) or ''
      jobs[n + 7], jobs[n + 8], n = gate or '', known.ua[k] or '', n + 8
    end
  end
end
return {record, jobs}
