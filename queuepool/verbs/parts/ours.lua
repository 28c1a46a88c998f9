-- uses: foreign
-- What a read says; nil when the value is not ours, which makes way later.
local function ours(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if not string.find(reply.err, 'WRONGTYPE', 1, true) then error(reply) end
  foreign = foreign or {}
  foreign[key] = reply
end
