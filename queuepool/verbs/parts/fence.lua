local owner = redis.call('HMGET', base .. ':o', 'nonce', 'epoch')
if owner[1] ~= ARGV[1] or owner[2] ~= ARGV[2] then
  redis.pcall('HINCRBY', c, 'fenced', 1)
  return {'FENCED', owner[2] or '0'}
end
