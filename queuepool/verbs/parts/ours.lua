-- uses: foreign
-- The reply to a read; nil if the value is not ours, which is deleted later.
local function ours(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if not string.find(reply.err, 'WRONGTYPE', 1, true) then error(reply) end
  foreign = foreign or {}
  foreign[key] = reply
end
