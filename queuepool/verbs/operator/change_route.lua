#!lua flags=allow-oom
-- change_route: change the record of the route, unless someone did since it was read.
-- ROLES   ops
-- KEYS[1] system base; derived: route
-- ARGV    version that was read, a nonce of this call, then n * (field, value)
-- Returns {1, new version}; or {0, the version there is (0: no record)}. A call that is repeated,
--         since its reply was lost, gets the same reply. O(1).
local route = KEYS[1] .. ':route'
-- uses: whole
local version, nonce = unpack(redis.call('HMGET', route, 'version', 'nonce'))
version = whole(version)
if nonce == ARGV[2] then return {1, version} end
if version == 0 or version ~= tonumber(ARGV[1]) then return {0, version} end
version = version + 1
for i = 3, #ARGV - 1, 2 do redis.call('HSET', route, ARGV[i], ARGV[i + 1]) end
redis.call('HSET', route, 'version', string.format('%.0f', version), 'nonce', ARGV[2])
return {1, version}
