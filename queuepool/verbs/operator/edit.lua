#!lua
-- edit: return a job's body, or replace its envelope while the job does not run.
-- ROLES   ops
-- KEYS[1] base; derived: j c dl dead o dr rec fl:<epochs> cn ex g:<group>
-- ARGV    id, the body that it should have ('': only return it), the envelope that it gets
-- Returns {state, body}: unknown, in-flight, cancelled; changed: it has another body; moving: its
--         group is on its way to another partition; edited; or dead, delayed, waiting, if it was
--         only to be returned. Its id, place, tier, group, limits and unique key stay. O(1).
local base, id = KEYS[1], ARGV[1]
local j, c = base .. ':j', base .. ':c'
-- uses: clock, group_of, is_cancelled, who_owns, epochs_in_flight, newest_cut, add, raise_largest
-- uses: ours
local body = redis.call('HGET', j, id)
if not body then return {'unknown', ''} end
local group = group_of(body)
local died, due = redis.call('ZSCORE', base .. ':dead', id), redis.call('ZSCORE', base .. ':dl', id)
for _, e in ipairs(epochs) do
  if redis.call('ZSCORE', base .. ':fl:' .. e, id) then return {'in-flight', ''} end
end
local cut, largest = unpack(redis.call('HMGET', c, 'cut', 'largest'))
if not died and is_cancelled(id, body, base .. ':g:' .. group) then return {'cancelled', ''} end
if ARGV[2] == '' then return {died and 'dead' or due and 'delayed' or 'waiting', body} end
if body ~= ARGV[2] then return {'changed', ''} end
if ours('HGET', base .. ':g:' .. group, 'moving') then return {'moving', ''} end
-- uses: make_way
local stamp = string.sub(body, 3, 13)
if redis.call('HEXISTS', base .. ':ex', id) == 0 then
  -- uses: later_stamp
  stamp = string.format('%011x', later_stamp(tonumber(stamp, 16) or 0, newest_cut(cut)))
end
local edited = string.sub(body, 1, 2) .. stamp .. string.sub(body, 14, 18) .. group .. ARGV[3]
redis.call('HSET', j, id, edited)
local grown = #edited - #body
if grown ~= 0 then
  add(c, 'bytes', grown)
  if died then add(c, 'dead_bytes', grown) end
end
raise_largest(largest, #edited)
return {'edited', ''}
