#!lua flags=no-writes
-- batch: what a batch is, and how many of its jobs have ended.
-- ROLES   producer consumer coordinator ops-read ops
-- KEYS[1] base; derived: c b:<batch>
-- ARGV    batch, version of the route ('': 1); then perhaps where to go on in the batches in it, 0
--         at first
-- Returns {now ms, [field, value ...] without those of single jobs, [batches in it, at most 100],
--         0}; no fields: unknown. Or, if asked where to go on, a page of the batches in it, of
--         which some may be in several pages, and where to go on, 0 at the end. {MOVED, least
--         version}: that of the route is lower. O(1), or O(calls that added jobs), of one page.
local base, routed = KEYS[1], ARGV[2]
-- uses: moved, clock
local b, inner, left = base .. ':b:' .. ARGV[1], {}, '0'
local names = {'state', 'why', 'then', 'how', 'late', 'due', 'keep', 'called', 'within', 'created',
  'ended', 'sealed', 'total', 'done', 'dead', 'lost', 'part', 'graph'}
local fields = {}
for k, value in ipairs(redis.call('HMGET', b, unpack(names))) do
  if value then fields[#fields + 1] = names[k]; fields[#fields + 1] = value end
end
if redis.call('HLEN', b) > #fields / 2 then
  -- A page this large has at least 100 of them, or all
  local page = redis.call('HSCAN', b, ARGV[3] or 0, 'MATCH', 's:*', 'COUNT', 1000)
  for k = 2, ARGV[3] and #page[2] or math.min(#page[2], 200), 2 do
    inner[#inner + 1] = page[2][k]
  end
  if ARGV[3] then left = page[1] end
end
return {now, fields, inner, left}
