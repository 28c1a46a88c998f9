#!lua flags=no-writes
-- batch_results: read the outcome of jobs of a batch, in the order of their numbers.
-- ROLES   producer consumer ops-read ops
-- KEYS[1] base; derived: c b:<batch> bb:<batch> bf:<batch> br:<batch>:<page>
-- ARGV    batch, version of the route ('': 1), the first number, bytes that the results may have
--         together
-- Returns {state ('': unknown), jobs, the next number, end (o: none yet; as in note_ends), result
--         or error ...} of at most 128 jobs, the last one whatever its size; of what a job of a
--         step waits for: {state, steps, steps, s, the steps}. {MOVED, least version}: that of
--         the route is lower. O(128).
-- Of one that is not sealed it knows the jobs up to the last one that has ended.
local base, batch, routed, first = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
-- uses: moved, whole
local state, total, top, part, graph = unpack(redis.call('HMGET', base .. ':b:' .. batch, 'state',
  'total', 'top', 'part', 'graph'))
if part == 'g' then return {state, whole(total), whole(total), 's', graph or ''} end
local jobs = math.max(whole(total), whole(top))
local bits, failed = base .. ':bb:' .. batch, base .. ':bf:' .. batch
local size, found, page = 0, {}, (first - first % 128) / 128
local results = base .. ':br:' .. batch .. ':' .. string.format('%.0f', page)
local last = math.min(jobs, (page + 1) * 128) - 1
local number = first
while number <= last and size <= tonumber(ARGV[4]) do
  local kind, text = 'o', ''
  if redis.call('GETBIT', bits, number) == 1 then
    local problem = redis.call('HGET', failed, number)
    kind = problem and string.sub(problem, 1, 1) or 'd'
    text = problem and string.sub(problem, 24) or redis.call('HGET', results, number % 128) or ''
  end
  size = size + #text
  found[#found + 1] = kind
  found[#found + 1] = text
  number = number + 1
end
return {state or '', jobs, number, unpack(found)}
