#!lua flags=allow-oom
-- set_policy: replace the scaling record, unless someone changed it since it was read.
-- ROLES   coordinator ops
-- KEYS[1] system base; derived: policy
-- ARGV    version that was read (0: none), a nonce of this call, JSON, by whom
-- Returns {1, new version}; or {0, the version there is}. A call that is repeated, since its reply
--         was lost, gets the same reply. Versions only grow: max(old + 1, server ms). O(size).
local policy = KEYS[1] .. ':policy'
-- uses: clock, whole
local version, nonce = unpack(redis.call('HMGET', policy, 'version', 'nonce'))
version = whole(version)
if nonce == ARGV[2] then return {1, version} end
if version ~= tonumber(ARGV[1]) then return {0, version} end
version = math.max(version + 1, now)
redis.call('HSET', policy, 'version', string.format('%.0f', version), 'nonce', ARGV[2],
  'record', ARGV[3], 'by', ARGV[4], 'at', now)
return {1, version}
