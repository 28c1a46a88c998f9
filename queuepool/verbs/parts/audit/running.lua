-- Of up to 1,000 jobs in flight: how many each tenant has
local running, flying = nil, 0
for _, e in ipairs(epochs) do flying = flying + (ours('ZCARD', base .. ':fl:' .. e) or 0) end
if recounted and next(known) and flying <= 1000 then
  running = {}
  for _, e in ipairs(epochs) do
    for _, id in ipairs(ours('ZRANGE', base .. ':fl:' .. e, 0, -1) or {}) do
      local body = redis.call('HSTRLEN', j, id) <= 16777385 and redis.call('HGET', j, id)
      local tenant = body and tenant_of(group_of(body))
      if tenant then running[tenant] = (running[tenant] or 0) + 1 end
    end
  end
end
