-- Any read error other than a wrong type ends the script.
for _, reply in pairs(foreign or {}) do
  if not string.find(reply.err, 'WRONGTYPE', 1, true) then error(reply) end
end
