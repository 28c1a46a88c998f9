-- uses: wake, whole
-- The outcome of a step of a flow, for the owner to relay to the batches that wait for it, whenever
-- that changes: d all its jobs are done, x some are dead, g some are lost and none is dead, r it
-- goes on, as a dead one came back. Its stamps grow with each return, as those of bodies do.
local function pass_on(batch)
  local b, fo = base .. ':b:' .. batch, base .. ':fo'
  local f = redis.call('HMGET', b, 'sealed', 'total', 'done', 'dead', 'lost', 'tells', 'said',
    'returns')
  local done, dead, lost = whole(f[3]), whole(f[4]), whole(f[5])
  local now_is, said, returns = 'r', f[7] or 'r', whole(f[8])
  if f[1] == '1' and done + dead + lost >= whole(f[2]) then
    now_is = dead > 0 and 'x' or lost > 0 and 'g' or 'd'
  end
  if now_is == said then return end
  if now_is == 'r' then returns = returns + 1 end
  local state = now_is == 'd' and 'fired' or now_is == 'r' and 'open' or 'failed'
  redis.call('HSET', b, 'state', state, 'said', now_is, 'returns', returns, 'ended', now)
  for follower in string.gmatch(f[6] or '', '%S+') do
    redis.call('XADD', fo, '*', 'AA' .. follower, now_is .. string.format('%011x', returns))
    if redis.call('XLEN', fo) == 1 then wake('f') end
  end
end
