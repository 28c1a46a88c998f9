#!lua flags=no-writes
-- limits: the limits that have their home in a partition, by name.
-- ROLES   coordinator ops-read ops
-- KEYS[1] base; derived: li:<limit> lt:<limit> lw:<limit> ls
-- ARGV    name after which to begin ('': at the first), count (1-200), a name ('': all)
-- Returns {name after which to go on ('': that was all), now us, [[name, definition set, in code,
--         paused since ms, pace, tokens granted, of these in the last second, us until which all
--         wait, us of the last 429, permits in use, askers in line, askers known, 1 if nobody asked
--         for it yet, else 0] ...]}. O(count).
local base, last, page = KEYS[1], '', {}
-- uses: clock, whole, ours
local names = {ARGV[3]}
if ARGV[3] == '' then
  names = redis.call('ZRANGEBYLEX', base .. ':ls', ARGV[1] == '' and '-' or '(' .. ARGV[1], '+',
    'LIMIT', 0, ARGV[2])
  if #names == tonumber(ARGV[2]) then last = names[#names] end
end
for _, name in ipairs(names) do
  local f = ours('HMGET', base .. ':li:' .. name, 'set', 'code', 'paused', 'pace', 'granted',
    'since', 'n0', 'n1', 'until', 'told', 'used', 'at', 'askers') or {}
  local age = now - whole(f[6])
  local recent = age >= 0 and age < 1000 and f[8] or age >= 1000 and age < 2000 and f[7]
  if f[1] or f[3] or f[12] then
    local tickets = ours('ZCARD', base .. ':lt:' .. name) or 0
    page[#page + 1] = {name, f[1] or '', f[2] or '', f[3] or '', f[4] or '', whole(f[5]),
      whole(recent), whole(f[9]), whole(f[10]), whole(f[11]),
      tickets + (ours('ZCARD', base .. ':lw:' .. name) or 0), math.max(tickets, whole(f[13])),
      f[12] and 0 or 1}
  end
end
-- uses: only_wrong_types
return {last, time[1] * 1000000 + time[2], page}
