-- uses: tenant_shares, clock, add, whole, wake
-- After each change of a tenant that is held or bounded: count what may be claimed of it now, and
-- give it the seats back that it lost, when something may. Returns how many. owning: nobody need be
-- told
local function tune_tenant(tenant, owning)
  local record, waiting, sum = base .. ':tn:' .. tenant, {}, 0
  local f = redis.call('HMGET', record, unpack(BOUNDS))
  if not f[4] then return 0 end
  for t = 0, 3 do waiting[t] = math.max(0, whole(f[6 + t])) end
  local room, able, state, apart = tenant_shares(f, waiting)
  local was = f[4] == 'held' and 'held' or 'capped'
  if state ~= was then add(c, was, 0 - whole(f[5])) end
  add(c, state, apart - (state == was and whole(f[5]) or 0))
  for t = 0, 3 do
    if able[t] ~= whole(f[10 + t]) then add(c, 'r' .. t, able[t] - whole(f[10 + t])) end
    sum = sum + able[t]
  end
  redis.call('HSET', record, 'state', state, 'apart', apart, 'c0', able[0], 'c1', able[1],
    'c2', able[2], 'c3', able[3])
  redis.call('HSET', base .. ':mt', tenant, room > 0 and math.max(1, whole(f[18])) or 0)
  for t = 0, room > 0 and 3 or -1 do
    if f[14 + t] then
      redis.call('HDEL', record, 'o' .. t + 4)
      if redis.call('LLEN', base .. ':tr:' .. t .. ':' .. tenant) > 0 then
        redis.call('RPUSH', base .. ':ring:' .. t, t + 4 .. string.format('%011x', now) .. tenant)
        if not owning then wake('w') end
      end
    end
  end
  return sum
end
