#!lua flags=no-writes
-- decisions: read recorded decisions, the newest first.
-- ROLES   coordinator ops-read ops
-- KEYS[1] system base; derived: decisions why:<partition>
-- ARGV    newest id to return ('+'; '(' before an id excludes it), count (1-1000), partition ('':
--         those of all partitions, as releases before 0.2.0 kept them)
-- Returns [[id, text] ...], '' for a text of more than 16,384 bytes. O(count).
local key = ARGV[3] == '' and KEYS[1] .. ':decisions' or KEYS[1] .. ':why:' .. ARGV[3]
local list = redis.call('XREVRANGE', key, ARGV[1], '-', 'COUNT', ARGV[2])
for i, entry in ipairs(list) do
  list[i] = {entry[1], #entry[2][2] <= 16384 and entry[2][2] or ''}
end
return list
