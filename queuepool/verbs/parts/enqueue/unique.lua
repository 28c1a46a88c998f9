-- Of jobs with a unique key: the keys, by place in the call; who holds each; the places of jobs
-- that another one keeps out, and which one that is.
local keys, holders = {}, {}
kept, by = {}, {}
-- uses: holder_of
redis.call('ZCARD', base .. ':dead')
for _, k in ipairs({'u', 'uk'}) do redis.call('HLEN', base .. ':' .. k) end
for k = words + 1, #ARGV, 2 do
  local place, key = tonumber(ARGV[k]), ARGV[k + 1]
  if not place or not key then return {'REFUSED', 'run', 0, 0} end
  if #key < 1 or #key > 512 then return {'REFUSED', 'unique', #key, 512} end
  keys[place] = key
  holders[key] = holders[key] or holder_of(key)
end
clashes = function(place, id)
  local key = keys[place]
  if not key or redis.call('HEXISTS', j, id) == 1 then return false end
  if holders[key] then
    kept[#kept + 1], by[#by + 1] = place, holders[key]
    return true
  end
  holders[key] = id
  redis.call('HSET', base .. ':u', key, id)
  redis.call('HSET', base .. ':uk', id, key)
  return false
end
