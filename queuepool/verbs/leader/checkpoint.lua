#!lua flags=allow-oom
-- checkpoint: record the worker count of a partition, from which a restart resumes.
-- ROLES   coordinator ops
-- KEYS[1] base; derived: ck
-- ARGV    leader epoch, target workers
-- Returns 1; or 0, with nothing written, if a newer leader wrote before. O(1).
local ck = KEYS[1] .. ':ck'
-- uses: clock, whole
if whole(redis.call('HGET', ck, 'leader')) > tonumber(ARGV[1]) then return 0 end
redis.call('HSET', ck, 'target', ARGV[2], 'at', now, 'leader', ARGV[1])
return 1
