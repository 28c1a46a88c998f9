-- uses: moves/is_closed
-- Jobs of groups that are being copied stay where they are. Others pass them, as long as there are
-- no more than 1,000 of them. passed: those that stay; `thaw` wakes the owner for these
local closed, others, at, page = {}, {}, 0, nil
local function stays(id)
  local body = redis.call('HGET', j, id)
  local name = body and group_of(body) or ''
  if closed[name] == nil then closed[name] = is_closed(name) end
  return closed[name]
end
repeat
  page = redis.call('ZRANGEBYSCORE', dl, '-inf', now, 'LIMIT', at, 100)
  for _, id in ipairs(page) do
    local free = not stays(id)
    if not free then passed = passed + 1 end
    if free and #others < 100 then others[#others + 1] = id end
  end
  at = at + 100
until #page < 100 or #others == 100 or at >= 1000
ids = others
others = {}
for _, id in ipairs(urgent) do
  if not stays(id) then others[#others + 1] = id end
end
urgent = others
