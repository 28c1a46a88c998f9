-- uses: special
-- Jobs start: they expire no more, and others may have the keys that they held until then.
local function note_start(ids)
  if special.ex then redis.call('HDEL', base .. ':ex', unpack(ids)) end
  for k, said in ipairs(special.uk and redis.call('HMGET', base .. ':uk', unpack(ids)) or {}) do
    if said and string.sub(said, 1, 1) == 's' then
      local key = string.sub(said, 2)
      if redis.call('HGET', base .. ':u', key) == ids[k] then
        redis.call('HDEL', base .. ':u', key)
      end
      redis.call('HSET', base .. ':uk', ids[k], 'S' .. key)
    end
  end
end
