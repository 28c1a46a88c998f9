#!lua flags=no-writes
-- read_policy: read the scaling record, which operators change at run time.
-- ROLES   coordinator ops-read ops
-- KEYS[1] system base; derived: policy
-- ARGV    version that the caller knows, its nonce ('' for none)
-- Returns {version, nonce, JSON, by whom, ms when}; 0 as JSON if it is what the caller knows, its
--         size in bytes if that is above 65,536; {0, '', '', '', 0} if nobody ever set anything.
--         O(size).
local policy = KEYS[1] .. ':policy'
-- uses: whole
local version, nonce, at = unpack(redis.call('HMGET', policy, 'version', 'nonce', 'at'))
version, nonce = whole(version), string.sub(nonce or '', 1, 64)
local size = redis.call('HSTRLEN', policy, 'record')
if nonce ~= '' and nonce == ARGV[2] and version == tonumber(ARGV[1]) then
  return {version, nonce, 0, '', 0}
end
local record = size > 65536 and size or redis.call('HGET', policy, 'record') or ''
local by = redis.call('HSTRLEN', policy, 'by') <= 4096 and redis.call('HGET', policy, 'by') or ''
return {version, nonce, record, by, whole(at)}
