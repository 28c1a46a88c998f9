-- uses: note_foreign
-- What a read says; false when the value is not ours, which makes way later.
local function ours(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  note_foreign(key, reply)
  return false
end
