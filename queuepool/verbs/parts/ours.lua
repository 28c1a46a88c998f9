-- uses: foreign
-- The reply to a read; nil if the value is not ours: `make_way` deletes that, or ends the script.
local function ours(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  foreign = foreign or {}
  foreign[key] = reply
end
