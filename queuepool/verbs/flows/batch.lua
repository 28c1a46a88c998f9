#!lua flags=no-writes
-- batch: what a batch is, and how many of its jobs have ended.
-- ROLES   producer consumer coordinator ops-read ops
-- KEYS[1] base; derived: b:<batch>
-- ARGV    batch
-- Returns {now ms, [field, value ...] without those of single jobs, [batches in it, at most 100]};
--         no fields: unknown. O(1), or O(calls that added jobs).
-- uses: clock
local b, inner = KEYS[1] .. ':b:' .. ARGV[1], {}
local names = {'state', 'why', 'then', 'how', 'late', 'due', 'keep', 'called', 'within', 'created',
  'ended', 'sealed', 'total', 'done', 'dead', 'lost', 'part', 'graph'}
local fields = {}
for k, value in ipairs(redis.call('HMGET', b, unpack(names))) do
  if value then fields[#fields + 1] = names[k]; fields[#fields + 1] = value end
end
if redis.call('HLEN', b) > #fields / 2 then
  -- A page this large has at least 100 of them, or all
  local page = redis.call('HSCAN', b, 0, 'MATCH', 's:*', 'COUNT', 1000)[2]
  for k = 2, math.min(#page, 200), 2 do inner[#inner + 1] = page[k] end
end
return {now, fields, inner}
