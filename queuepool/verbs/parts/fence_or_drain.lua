local owner = redis.call('HMGET', base .. ':o', 'nonce', 'epoch')
if owner[1] ~= ARGV[1] or owner[2] ~= ARGV[2] then
  local leaving = redis.call('HGET', base .. ':dr', ARGV[2])
  if not leaving or string.find(leaving, ARGV[1] .. ':', 1, true) ~= 1 then
    redis.pcall('HINCRBY', c, 'fenced', 1)
    return {'FENCED', owner[2] or '0'}
  end
end
