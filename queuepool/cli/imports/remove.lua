-- remove: remove jobs of a page from another queue, and strike each from the note, in one step.
-- KEYS[1] the note
-- KEYS[2] the place of the page; derived: what belongs to each job, from the note
-- ARGV    1 or -1: a list, from its head or tail, 0: a sorted set; how many entries stand before
--         the page; how many it has; a text that is in no queue; then the ids the jobs have here
-- Returns how many copies of each were removed: 0 if a worker took it, or runs it; it then stays in
--         the note. A page of a list costs one pass over what stands before it.
local note, place, gone = KEYS[1], KEYS[2], ARGV[4]
local direction, first, size = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local jobs, removed, at, marked = {}, {}, {}, 0

-- task, group, member, guard, owned key, what it then holds, keys ...; lengths before each
local function fields_of(noted)
  local fields, from = {}, 1
  while from <= #noted do
    fields[#fields + 1], from = struct.unpack('>I4c0', noted, from)
  end
  return fields
end

if direction ~= 0 then
  if direction < 0 then first = math.max(0, redis.call('LLEN', place) - first - size) end
  for i, member in ipairs(redis.call('LRANGE', place, first, first + size - 1)) do
    at[member] = at[member] or {}
    table.insert(at[member], first + i - 1)
  end
end

local function runs(guard) return guard ~= '' and redis.call('EXISTS', guard) == 1 end

-- Elements that are marked do not move the others, so they can all be marked, then removed at once.
local function take(member)
  if direction == 0 then return redis.call('ZREM', place, member) end
  for _, index in ipairs(at[member] or {}) do redis.call('LSET', place, index, gone) end
  local count = #(at[member] or {})
  marked = marked + count
  return count
end

for i = 5, #ARGV do
  local noted = redis.call('HGET', note, ARGV[i])
  local job = noted and fields_of(noted)
  local free = job and not runs(job[4])
  jobs[#jobs + 1] = job or false
  removed[#jobs] = free and take(job[3]) or 0
end
if marked > 0 then redis.call('LREM', place, direction * marked, gone) end
for i, job in ipairs(jobs) do
  if job and removed[i] == 0 and direction ~= 0 and not runs(job[4]) then
    removed[i] = redis.call('LREM', place, direction, job[3]) -- others were added or taken
  end
  if removed[i] > 0 then
    if job[5] ~= '' and redis.pcall('GET', job[5]) == job[6] then redis.call('DEL', job[5]) end
    for k = 7, #job do redis.call('UNLINK', job[k]) end
    redis.call('HDEL', note, ARGV[i + 4])
  end
end
return removed
