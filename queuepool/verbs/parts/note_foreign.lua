local foreign -- keys where a value of another type stands: they make way before the first write
local function note_foreign(key, reply)
  if not string.find(reply.err, 'WRONGTYPE', 1, true) then error(reply) end
  foreign = foreign or {}
  if not foreign[key] then foreign[key], foreign[#foreign + 1] = true, key end
end
