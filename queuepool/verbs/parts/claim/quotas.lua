-- uses: whole
-- Of n jobs: smooth weighted round-robin, whole rounds at once and the rest by stored credit.
local function quotas(n)
  local quota, credit, sum = {}, {}, 0
  for _, t in ipairs(active) do sum = sum + ARGV[6 + t] end
  if sum <= 0 then return quota end -- strict order
  local rounds = math.floor(n / sum)
  local stored = redis.call('HMGET', c, 'k0', 'k1', 'k2', 'k3')
  for _, t in ipairs(active) do
    quota[t] = rounds * ARGV[6 + t]
    credit[t] = whole(stored[t + 1])
  end
  -- Not written by our scripts
  for _, t in ipairs(active) do if math.abs(credit[t]) > 100 * sum then credit[t] = 0 end end
  for _ = 1, n - rounds * sum do
    local best
    for _, t in ipairs(active) do
      credit[t] = credit[t] + ARGV[6 + t]
      if not best or credit[t] > credit[best] then best = t end
    end
    credit[best] = credit[best] - sum
    quota[best] = quota[best] + 1
  end
  for _, t in ipairs(active) do quota['k' .. t] = credit[t] end
  return quota
end
