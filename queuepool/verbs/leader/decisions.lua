#!lua flags=no-writes
-- decisions: read recorded decisions, the newest first.
-- ROLES   coordinator ops-read ops
-- KEYS[1] system base; derived: decisions
-- ARGV    newest id to return ('+'; '(' before an id excludes it), count (1-1000)
-- Returns [[id, JSON] ...]. O(count).
local list = redis.call('XREVRANGE', KEYS[1] .. ':decisions', ARGV[1], '-', 'COUNT', ARGV[2])
for i, entry in ipairs(list) do list[i] = {entry[1], entry[2][2]} end
return list
