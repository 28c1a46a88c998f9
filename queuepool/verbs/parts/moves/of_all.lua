-- What a key says of ids, in their order, by one command; {}: there is no such key
local function of_all(ids, command, key)
  return #ids > 0 and redis.call('EXISTS', key) == 1 and redis.call(command, key, unpack(ids)) or {}
end
