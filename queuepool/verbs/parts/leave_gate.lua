-- uses: add
-- n ids have left the lanes of a gate; the last one leaves none
local function leave_gate(gate, n)
  if n > 0 and add(base .. ':gt', gate, -n) <= 0 then redis.call('HDEL', base .. ':gt', gate) end
end
