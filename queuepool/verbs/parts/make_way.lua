-- uses: only_wrong_types
-- A foreign value in a key named after a group is deleted: it would stop all calls with its jobs.
for found in pairs(foreign or {}) do redis.call('UNLINK', found) end
