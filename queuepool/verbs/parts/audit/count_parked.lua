-- At the end of a round, of up to 2,000 jobs with limits: how many are parked, by gate.
local at_gates, of_gate, in_lanes = 0, {}, {}
local counted_there = page[1] == '0' and redis.call('HLEN', base .. ':lm') <= 2000
for k, said in ipairs(counted_there and redis.call('HGETALL', base .. ':lm') or {}) do
  local state, gate = gate_of(k % 2 == 0 and said)
  if state == 'p' then
    at_gates = at_gates + 1
    of_gate[gate] = (of_gate[gate] or 0) + 1
  elseif state and string.find(state, '^[1-9]') then
    in_lanes[gate] = (in_lanes[gate] or 0) + 1
  end
end
local parked = whole(redis.call('HGET', c, 'parked'))
local misparked = counted_there and parked ~= at_gates
for gate, n in pairs(of_gate) do -- marks add to it
  misparked = misparked or whole(redis.call('HGET', base .. ':gt', gate)) < n
end
local admitted = counted_there and ours('HLEN', base .. ':ga') or 0
for gate, n in pairs(in_lanes) do
  misparked = misparked or whole(redis.call('HGET', base .. ':ga', gate)) ~= n
  admitted = admitted - 1
end
misparked = misparked or admitted ~= 0 -- none is left where none is in a lane
if misparked then miscounted = miscounted + 1 end
-- What they say of the jobs in the lanes
if misparked then missing_there = at_gates - parked end
local function recount_parked()
  if not misparked then return end
  redis.call('HSET', c, 'parked', at_gates)
  for gate, n in pairs(of_gate) do
    if whole(redis.call('HGET', base .. ':gt', gate)) < n then
      redis.call('HSET', base .. ':gt', gate, n)
    end
  end
  redis.call('UNLINK', base .. ':ga')
  for gate, n in pairs(in_lanes) do redis.call('HSET', base .. ':ga', gate, n) end
end
