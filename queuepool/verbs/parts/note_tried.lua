-- An owner of an earlier release notes attempts, crashes, errors and progress, but not that it did.
if redis.call('EXISTS', base .. ':at', base .. ':cr', base .. ':er', base .. ':pr') > 0 then
  redis.pcall('HSET', c, 'tried', 1)
end
