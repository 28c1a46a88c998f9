#!lua flags=no-writes
-- status: return where one job is.
-- ROLES   producer ops-read ops
-- KEYS[1] base; derived: j c dl dead o dr rec fl:<epochs> at cr er pr cn r:<id> dn:<0|1> lm
-- ARGV    id, version of the route ('': 1)
-- Returns {state, body, ms (due, start or death), failed attempts, crashes, error, progress,
--         result, 1 if cancellation was requested}; absent parts are ''. A claimed job that did not
--         start has 0 ms.
-- {MOVED, least version}: that of the route is lower.
-- State is done, cancelled or expired for one to two minutes after the end (done: as long as its
-- result is kept), then unknown, as for an id that never was. O(1).
local base, id = KEYS[1], ARGV[1]
local routed = ARGV[2]
-- uses: moved, clock, remembered, whole
local body = redis.call('HGET', base .. ':j', id)
if not body then
  local result = redis.call('GET', base .. ':r:' .. id)
  local state = result and 'done' or 'unknown'
  local dn, since = unpack(redis.call('HMGET', base .. ':c', 'dn', 'dn_since'))
  for p = 0, 1 do
    local set = base .. ':dn:' .. p
    local found = redis.call('SMISMEMBER', set, id, '!' .. id, '~' .. id)
    if not remembered(set, dn == tostring(p), now - whole(since)) then found = {} end
    if found[1] == 1 then
      state = 'done'
    elseif found[2] == 1 and state ~= 'done' then
      state = found[3] == 1 and 'expired' or 'cancelled'
    end
  end
  return {state, '', 0, 0, 0, '', '', result or '', 0}
end
local state, at = 'ready', redis.call('ZSCORE', base .. ':dl', id)
if at then state = 'delayed' end
if not at then
  at = redis.call('ZSCORE', base .. ':dead', id)
  if at then state = 'dead' end
end
if not at then
  -- uses: who_owns, epochs_in_flight
  for _, e in ipairs(epochs) do at = at or redis.call('ZSCORE', base .. ':fl:' .. e, id) end
  if at then state = 'in-flight' end
  if at and tonumber(at) < 1e12 then at = 0 end
end
local said = not at and redis.call('HGET', base .. ':lm', id)
if said and string.sub(said, 1, 1) == 'p' then state = 'parked' end
-- An invalid number is 0: a nil would cut off the reply.
return {state, body, math.floor(tonumber(at or 0)),
  tonumber(redis.call('HGET', base .. ':at', id) or 0) or 0,
  tonumber(redis.call('HGET', base .. ':cr', id) or 0) or 0,
  redis.call('HGET', base .. ':er', id) or '', redis.call('HGET', base .. ':pr', id) or '', '',
  redis.call('HEXISTS', base .. ':cn', id)}
