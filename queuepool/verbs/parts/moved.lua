-- Who routes by an older version than this partition accepts is turned away, before any write.
-- `routed`: the version that the caller routes by; '' or nothing: the first.
local least = tonumber(redis.call('HGET', base .. ':c', 'route'))
if least and least > (tonumber(routed) or 1) then return {'MOVED', string.format('%.0f', least)} end
