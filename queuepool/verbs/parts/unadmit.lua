-- uses: add
-- A job that was admitted at a gate has left its lane.
local function unadmit(gate)
  if add(base .. ':ga', gate, -1) <= 0 then redis.call('HDEL', base .. ':ga', gate) end
end
