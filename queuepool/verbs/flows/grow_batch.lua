#!lua
-- grow_batch: reserve the numbers of jobs that a job of a batch adds to it; repeats add nothing.
-- ROLES   producer ops
-- KEYS[1] base; derived: b:<batch>
-- ARGV    batch, which call this is (the number of the job that adds, ':', the call of that job),
--         how many jobs, the batch that the one job continues ('': none)
-- Returns {OK, the first number, how many}, as the first call of this name was answered; or {OPEN}:
--         it is not sealed yet; {FULL}: too many jobs; or {OVER, its state ('': unknown)}. O(1).
local base, b = KEYS[1], KEYS[1] .. ':b:' .. ARGV[1]
-- uses: ours, whole
local f = ours('HMGET', b, 'state', 'sealed', 'total', 'k:' .. ARGV[2]) or {}
-- uses: make_way
local first, n = string.match(f[4] or '', '^(%d+):(%d+)$')
if first then return {'OK', tonumber(first), tonumber(n)} end
if f[1] ~= 'open' then return {'OVER', f[1] or ''} end
if f[2] ~= '1' then return {'OPEN'} end
local total = whole(f[3])
if total + ARGV[3] > 16777216 then return {'FULL'} end
redis.call('HSET', b, 'total', total + ARGV[3],
  'k:' .. ARGV[2], string.format('%.0f:%s', total, ARGV[3]))
if ARGV[4] ~= '' then redis.call('HSET', b, 's:' .. string.format('%.0f', total), ARGV[4]) end
return {'OK', total, tonumber(ARGV[3])}
