local foreign -- keys where a value of another type stands
local function ours(command, key, ...) -- what a read says; false when the value is not ours, which makes way later
  local reply = redis.pcall(command, key, ...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if not string.find(reply.err, 'WRONGTYPE', 1, true) then error(reply) end
  foreign = foreign or {}
  if not foreign[key] then foreign[key], foreign[#foreign + 1] = true, {key = key, err = reply.err} end
  return false
end
