-- uk: id -> unique key of a job, u: unique key -> id of the job that holds it. Seldom there.
local unique = redis.call('HLEN', base .. ':uk') > 0 and redis.call('HLEN', base .. ':u') >= 0
-- Jobs ended, ids[first .. last], or died: others may have their keys. A dead one knows its key, to
-- take it again.
local function free_unique(ids, first, last, died)
  local keys = unique and redis.call('HMGET', base .. ':uk', unpack(ids, first, last)) or {}
  for k, key in ipairs(keys) do
    local id = ids[first + k - 1]
    if key and redis.call('HGET', base .. ':u', key) == id then
      redis.call('HDEL', base .. ':u', key)
    end
    if key and not died then redis.call('HDEL', base .. ':uk', id) end
  end
end
