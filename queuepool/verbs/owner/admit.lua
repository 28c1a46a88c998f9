#!lua flags=allow-oom
-- admit: move jobs that are parked at a gate to their lanes, as their limits allow.
-- ROLES   consumer ops
-- KEYS[1] base; derived: o c j gt ga gk lm ll gr:<tier>:<gate> gq:<tier>:<gate>~<group> gg:<group>
--         at cr er cn cx ex u uk dl wk dn:<0|1> mg g:<group> q:<tier>:<group> ring:<0-3>
--         tr:<0-3>:<tenant> tn:<tenant> tt:<tenant> mt fo
-- ARGV    nonce, epoch, gate, jobs at most (0-200), jobs that may be admitted and not claimed yet
-- Returns {admitted, admitted and not claimed yet, ids left at the gate, cancelled}; or {FENCED,
--         current epoch}.
-- Groups take turns, one job a turn; tiers 6:3:2:1. A group whose room is 0, or whose tenant's is,
-- keeps its place; a partition that is held admits nothing. What was cancelled with its group ends
-- here; what should have started by now goes to its lane in addition, for a claim to end it.
-- O(jobs): a call visits at most twice as many seats as it may admit jobs, and 32.
local base, gate, n = KEYS[1], ARGV[3], tonumber(ARGV[4])
local c, j = base .. ':c', base .. ':j'
-- uses: fence, clock, check_hashes, end_cancelled, stamp_of, push, push_front, gate_of
-- uses: raise_largest, wake, add, whole, ours, count_ready, tune, unpark, leave_gate, probe_gate
-- uses: probe_tenant, tenant_of
check_hashes('c', 'j', 'gt', 'ga', 'gk', 'lm', 'ex', 'mg', 'mt', 'at', 'cr', 'er', 'cn', 'cx')
for t = 0, 3 do redis.call('LLEN', base .. ':ring:' .. t) end
local out = whole(redis.call('HGET', base .. ':ga', gate))
n = redis.call('HEXISTS', c, 'hold') == 1 and 0 or math.min(n, tonumber(ARGV[5]) - out)
local cursor = whole(redis.call('HGET', base .. ':gk', gate))
local largest = redis.call('HGET', c, 'largest')
local admitted, cancelled, popped, most, idle = 0, 0, 0, 0, 0
local seats, visits = {}, n > 0 and 2 * n + 32 or 0
for t = 0, 3 do
  seats[t] = base .. ':gr:' .. t .. ':' .. gate
  for _, group in ipairs(ours('LRANGE', seats[t], 0, visits - 1) or {}) do
    probe_gate(gate, t, group)
    probe_tenant(group)
    for home = managed and 0 or t, managed and 3 or t do
      ours('LLEN', base .. ':q:' .. home .. ':' .. group)
    end
  end
end
-- uses: make_way

-- uses: admit/next_seat, admit/take
for _ = 1, visits do
  local tier, group = next_seat()
  if not tier then break end
  take(tier, group)
  if admitted >= n or idle >= 32 then break end
end
if admitted > 0 then
  raise_largest(largest, most)
  add(c, 'admitted', admitted)
end
if popped > cancelled then wake('w') end -- a claim may wait for it at the server
leave_gate(gate, popped)
local left = whole(redis.call('HGET', base .. ':gt', gate))
if left > 0 then
  redis.call('HSET', base .. ':gk', gate, cursor % 12)
else
  redis.call('HDEL', base .. ':gk', gate)
end
return {admitted, out + admitted, left, cancelled}
