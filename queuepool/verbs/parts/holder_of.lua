-- The job that holds a unique key. One that ended or died under a version that knows no unique keys
-- holds none.
local function holder_of(key)
  local id = redis.call('HGET', base .. ':u', key)
  return id and redis.call('HEXISTS', base .. ':j', id) == 1
    and not redis.call('ZSCORE', base .. ':dead', id)
    and redis.call('HGET', base .. ':uk', id) == key and id
end
