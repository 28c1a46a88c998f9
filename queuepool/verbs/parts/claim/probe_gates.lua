-- uses: probe_gate, gate_of
for _, key in ipairs({'gt', 'gk'}) do redis.call('HLEN', base .. ':' .. key) end
for _, t in ipairs(active) do
  for i = 1, served[t] do
    local lane = lanes[t][i]
    local looks = lane.limited and lane.take > 0
    local ids = looks and redis.call('LRANGE', lane.key, 0, lane.take - 1) or {}
    local says = #ids > 0 and redis.call('HMGET', base .. ':lm', unpack(ids)) or {}
    for _, said in ipairs(says) do
      local state, gate = gate_of(said)
      if state and state ~= ARGV[2] then probe_gate(gate, lane.home, lane.group) end
    end
  end
end
