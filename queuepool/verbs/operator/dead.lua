#!lua flags=no-writes
-- dead: list dead jobs, the oldest first.
-- ROLES   ops-read ops
-- KEYS[1] base; derived: dead j at cr er
-- ARGV    offset, count (1-200)
-- Returns [[id, died ms, body ('' if lost), failed attempts, crashes, error] ...]; an invalid count
--         is 0, since a nil would cut off the rest. O(log dead + count).
local base, list = KEYS[1], {}
local function count(k, id) return tonumber(redis.call('HGET', base .. k, id) or 0) or 0 end
local ids = redis.call('ZRANGE', base .. ':dead', ARGV[1], ARGV[1] + ARGV[2] - 1, 'WITHSCORES')
for i = 1, #ids, 2 do
  local id = ids[i]
  list[#list + 1] = {id, tonumber(ids[i + 1]), redis.call('HGET', base .. ':j', id) or '',
    count(':at', id), count(':cr', id), redis.call('HGET', base .. ':er', id) or ''}
end
return list
