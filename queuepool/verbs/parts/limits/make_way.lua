-- uses: ours, only_wrong_types
-- A foreign value in the key of a limit is deleted: it would stop all jobs that name the limit
for other in pairs(foreign or {}) do redis.call('UNLINK', other) end
