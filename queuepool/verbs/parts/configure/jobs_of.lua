local looked = 10000 -- ids
local marks = redis.call('HLEN', base .. ':cx') > 0
local function jobs_of(lane) -- how many jobs stand in a lane, without marks of cancelled ones
  local jobs = lane.size
  if not marks then return jobs end
  for at = 0, math.min(lane.size, looked) - 1, 1000 do
    local ids = redis.call('LRANGE', lane_key(lane), at, at + 999)
    for _, mark in ipairs(redis.call('HMGET', base .. ':cx', unpack(ids))) do
      if mark then jobs = jobs - 1 end
    end
  end
  looked = looked - math.min(lane.size, looked)
  return jobs
end
