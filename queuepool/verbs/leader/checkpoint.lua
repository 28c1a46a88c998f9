#!lua flags=allow-oom
-- checkpoint: note the worker count that a partition runs with, so that a restart resumes there.
-- ROLES   coordinator ops
-- KEYS[1] base; derived: ck
-- ARGV    leader epoch, target workers
-- Returns 1; or 0 with nothing written when a newer leader wrote before. O(1).
local ck = KEYS[1] .. ':ck'
-- uses: clock, whole
if whole(redis.call('HGET', ck, 'leader')) > tonumber(ARGV[1]) then return 0 end
redis.call('HSET', ck, 'target', ARGV[2], 'at', now, 'leader', ARGV[1])
return 1
