#!lua flags=allow-oom
-- drop_marks: drop ids of cancelled jobs that are in front of the lanes of a frozen task group, as
--             `export` looks past 10,000 of them.
-- ROLES   ops
-- KEYS[1] base; derived: c j cx gt q:<0-3>:<group> gg:<group> gq:<tier>:<gate>~<group>
-- ARGV    version of the route, group
-- Returns how many, up to 1,000 of each lane; or {MOVED, least version}. O(that).
-- The last one of a lane stays: it has a seat.
local base, group = KEYS[1], ARGV[2]
-- uses: moves/current
local j, dropped = base .. ':j', 0
-- uses: clock, check_hashes, ours, add, leave_gate
check_hashes('j', 'cx', 'gt')
local in_front = {}
local function look_at(list, gate)
  local ids, n = ours('LRANGE', list, 0, 1000) or {}, 0
  while n < #ids - 1 and redis.call('HEXISTS', j, ids[n + 1]) == 0 do n = n + 1 end
  if n > 0 then in_front[#in_front + 1] = {list = list, gate = gate, n = n, ids = ids} end
end
for t = 0, 3 do look_at(base .. ':q:' .. t .. ':' .. group) end
local page = {'0'}
repeat
  page = ours('SSCAN', base .. ':gg:' .. group, page[1], 'COUNT', 100) or {'0', {}}
  for _, place in ipairs(page[2]) do
    look_at(base .. ':gq:' .. place .. '~' .. group, string.sub(place, 3))
  end
until page[1] == '0'
-- uses: make_way
for _, lane in ipairs(in_front) do
  local list = lane.list
  redis.call('LPOP', list, lane.n)
  redis.call('HDEL', base .. ':cx', unpack(lane.ids, 1, lane.n))
  if lane.gate then leave_gate(lane.gate, lane.n) end
  dropped = dropped + lane.n
end
return dropped
