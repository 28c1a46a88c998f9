#!lua flags=allow-oom
-- rotate_nonce: change the nonce of an ownership, so that earlier calls are rejected.
-- ROLES   consumer ops
-- KEYS[1] base; derived: o dr c
-- ARGV    nonce without its number, epoch, number (the new nonce is nonce.number)
-- Returns 1; or {FENCED, current epoch} if the ownership is over or a higher number is in force.
-- A call without a reply may still be in transit, and a stalled server may execute it after newer
-- ones: for example hand back a job that runs by now. Later calls carry the new nonce, and the late
-- call, with an older one, is FENCED. A draining owner may call it. O(1).
local base, o, dr = KEYS[1], KEYS[1] .. ':o', KEYS[1] .. ':dr'
local owner, leaving = redis.call('HMGET', o, 'nonce', 'epoch'), redis.call('HGET', dr, ARGV[2])

local function older(nonce) -- the same ownership under a number that is not higher
  local stem, number = string.match(nonce or '', '^([^.]*)%.?(%d*)$')
  return stem == ARGV[1] and (tonumber(number) or 0) <= tonumber(ARGV[3])
end

local new = ARGV[1] .. '.' .. ARGV[3]
if owner[2] == ARGV[2] and older(owner[1]) then
  redis.call('HSET', o, 'nonce', new)
  return 1
end
local nonce, expires = string.match(leaving or '', '^(.*):(%d+)$')
if nonce and older(nonce) then
  redis.call('HSET', dr, ARGV[2], new .. ':' .. expires)
  return 1
end
redis.pcall('HINCRBY', base .. ':c', 'fenced', 1)
return {'FENCED', owner[2] or '0'}
