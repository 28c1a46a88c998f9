-- What is not ours in a key named after a group makes way: it would stop all calls with such a job.
for _, key in ipairs(foreign or {}) do redis.call('UNLINK', key) end
