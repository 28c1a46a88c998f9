-- The job that holds a unique key. One that ended or died under a version without unique keys holds
-- none.
local function holder_of(key)
  local id = redis.call('HGET', base .. ':u', key)
  if not id or redis.call('HEXISTS', base .. ':j', id) == 0
    or redis.call('ZSCORE', base .. ':dead', id) then
    return false
  end
  local said = redis.call('HGET', base .. ':uk', id)
  return (said == 'e' .. key or said == 's' .. key) and id
end
