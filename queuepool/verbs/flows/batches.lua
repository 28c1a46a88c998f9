#!lua flags=no-writes
-- batches: list the batches of a partition, those due first before the others.
-- ROLES   coordinator ops-read ops
-- KEYS[1] base; derived: bd b:<batch>
-- ARGV    offset, count (1-200)
-- Returns {batches in all, [batch, [state, called, total, done, dead, lost, due ms, created ms,
--         part of a flow, ms of the next look] ...]}. O(log batches + count).
local base, found = KEYS[1], {}
local names = redis.call('ZRANGE', base .. ':bd', ARGV[1], ARGV[1] + ARGV[2] - 1, 'WITHSCORES')
for k = 1, #names, 2 do
  local batch = names[k]
  local f = redis.pcall('HMGET', base .. ':b:' .. batch, 'state', 'called', 'total', 'done', 'dead',
    'lost', 'due', 'created', 'part')
  if f.err then f = {} end
  for n = 1, 9 do f[n] = f[n] or '' end
  f[10] = string.format('%.0f', names[k + 1])
  found[#found + 1] = batch
  found[#found + 1] = f
end
return {redis.call('ZCARD', base .. ':bd'), found}
