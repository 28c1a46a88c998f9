-- What a key says of ids, in their order, by one command
local function of_all(ids, command, key)
  return #ids > 0 and redis.call(command, key, unpack(ids)) or {}
end
