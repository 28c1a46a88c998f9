-- uses: moves/is_closed
-- Jobs of groups that are being copied stay where they are. Others pass them, as long as there are
-- no more than 1,000 of them. passed: those that stay; `thaw` wakes the owner for these
local closed = {}
local function stays(id)
  local body = redis.call('HGET', j, id)
  local name = body and group_of(body) or ''
  if closed[name] == nil then closed[name] = is_closed(name) end
  return closed[name]
end
-- Adds others to found, up to 100, in order; returns how many stay
local function pass(found, key, first, last)
  local stay, at, page = 0, 0, nil
  repeat
    page = redis.call('ZRANGEBYSCORE', key, first, last, 'LIMIT', at, 100)
    for _, id in ipairs(page) do
      if stays(id) then stay = stay + 1
      elseif #found < 100 then found[#found + 1] = id end
    end
    at = at + 100
  until #page < 100 or #found == 100 or at >= 1000
  return stay
end
ids, urgent = {}, {}
passed = pass(ids, dl, '-inf', now)
pass(urgent, du, '-inf', urgency('0', now))
pass(urgent, du, 0, now)
