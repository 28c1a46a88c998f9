#!lua
-- grow_batch: reserve the numbers of jobs that a job of a batch adds to it; repeats add nothing.
-- ROLES   producer ops
-- KEYS[1] base; derived: c b:<batch> bb:<batch>
-- ARGV    batch, version of the route ('': 1), which call this is (the number of the job that adds,
--         ':', the call of that job), how many jobs, the batch that the one job continues ('':
--         none)
-- Returns {OK, the first number, how many}, as the first call of this name was answered, and in a
--         later one a bit for each job that has ended, from the last number on that is divisible by
--         8; or {OPEN}: it is not sealed yet; {FULL}: too many jobs; {OVER, its state ('':
--         unknown)}; or {MOVED, least version}: that of the route is lower. O(1), or O(jobs / 8).
-- A step of a flow that has a dead job is not over: that may run again before its return is noted.
local base, b, routed = KEYS[1], KEYS[1] .. ':b:' .. ARGV[1], ARGV[2]
-- uses: moved, ours, whole
local f = ours('HMGET', b, 'state', 'sealed', 'total', 'k:' .. ARGV[3], 'part',
  'dead') or {}
local first, n = string.match(f[4] or '', '^(%d+):(%d+)$')
local bits = first and redis.call('GETRANGE', base .. ':bb:' .. ARGV[1], math.floor(first / 8),
  math.floor((first + n) / 8))
-- uses: make_way
if first then return {'OK', tonumber(first), tonumber(n), bits} end
local returns = f[1] == 'failed' and f[5] == 's' and whole(f[6]) > 0
if f[1] ~= 'open' and not returns then return {'OVER', f[1] or ''} end
if f[2] ~= '1' then return {'OPEN'} end
local total = whole(f[3])
if total + ARGV[4] > 16777216 then return {'FULL'} end
redis.call('HSET', b, 'total', total + ARGV[4],
  'k:' .. ARGV[3], string.format('%.0f:%s', total, ARGV[4]))
if ARGV[5] ~= '' then redis.call('HSET', b, 's:' .. string.format('%.0f', total), ARGV[5]) end
return {'OK', total, tonumber(ARGV[4])}
