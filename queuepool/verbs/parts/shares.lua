-- uses: whole
local SETTINGS = {'hold', 'max', 'serial', 'rt', 'left', 'delayed', 'state', 'apart',
  'w0', 'w1', 'w2', 'w3', 'c0', 'c1', 'c2', 'c3', 'o0', 'o1', 'o2', 'o3', 'parked',
  'tier', 'moved', 'moving'}
-- What of a managed group may be claimed: how many jobs; by tier, the ready ones among them; what
-- counts the other ready ones, and how many these are. f: its fields; waiting: ready jobs by tier
local function shares(f, waiting)
  local held = f[1] or f[24] -- or on its way to another partition
  local ready = waiting[0] + waiting[1] + waiting[2] + waiting[3]
  local room, most = 1000000, f[3] and 1 or whole(f[2])
  local running = whole(f[5]) - whole(f[6]) - whole(f[21]) - ready
  if most > 0 then room = math.max(0, most - running) end
  -- Whose retry is due later keeps the others waiting, and who waits at its gate
  if held or f[3] and f[4] and (redis.call('ZSCORE', base .. ':dl', f[4])
    or string.find(redis.call('HGET', base .. ':lm', f[4]) or '', '^p')) then room = 0 end
  local able, left = {}, room
  for t = 0, 3 do
    able[t] = math.min(waiting[t], left)
    left = left - able[t]
  end
  return room, able, held and 'held' or 'capped', ready - math.min(ready, room)
end
