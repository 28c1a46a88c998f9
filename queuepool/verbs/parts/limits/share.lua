-- Permits: how many jobs of the asker may run at once. While others wait, an even share of all, and
-- for the first in line of what is left beyond; who got that keeps it for 250 ms.
-- An idle asker has no permits and wants none: it is remembered for a minute by its serial.
local allowed, stored, stands, idle = total, 0, false, false
local used, askers, summed = whole(known.used), whole(known.askers), whole(known.summed)
if d.permits > 0 then
  local others, head = line(lw, waiting)
  if now - summed >= 1000 or now < summed then -- a count that is wrong is wrong for a second
    used, askers, summed = 0, 0, now
    local entries = redis.call('HGETALL', lc)
    for k = 1, #entries, 2 do
      local permits, next_ask, since = string.match(entries[k + 1], '^(%d+):(%d+):(%d+):')
      used = used + whole(permits)
      if next_ask ~= '0' then askers, since = askers + 1, next_ask end
      if whole(permits) == 0 and math.abs(now - whole(since)) > 60000 then
        redis.call('HDEL', lc, entries[k])
      end
    end
  end
  if mine and due ~= '0' then askers = math.max(0, askers - 1) end
  local free = d.permits - (used - had)
  local most, share = free, d.permits
  if others > 0 then
    share = math.floor(d.permits / (askers + 1))
    local keeps = now < slice and slice <= now + 250 and had or 0
    local extra = head and free > held and held + math.ceil((free - held) / (others + 1)) or 0
    most = math.max(share, keeps, extra)
    if math.min(total, free, most) > math.max(share, had) then slice = now + 250 end
  end
  allowed = math.max(0, math.min(total, free, most))
  stored = math.max(held, allowed)
  stands = allowed < math.min(total, d.permits)
  if stands then
    local next_time = us + (head and 20000 or 50000)
    again = again > 0 and math.min(again, next_time) or next_time
    local took = allowed > math.max(share, held) -- then it stands behind the others
    local entered = took and redis.call('ZADD', lw, now, asker)
      or redis.call('ZADD', lw, 'NX', now, asker)
    if entered == 1 then redis.call('PEXPIRE', lw, 86400000) end
  end
  used = used - had + stored
  idle = stored == 0 and total == 0 and not ticket
  if not idle then askers = askers + 1 end
end
if waiting > 0 and not stands then redis.call('ZREM', lw, asker) end
