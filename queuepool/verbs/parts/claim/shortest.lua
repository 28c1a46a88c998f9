-- uses: ours
-- The seats in front of a ring, and the newest 64, in the order of the work that is left: those
-- whose turn is overdue first, then the lanes with the fewest jobs. seats.lined: by tier, what
-- `line_up_ring` writes
seats.lined = {}
for _, t in ipairs(active) do
  local found, front, overdue = seats[t], #seats[t], now - shortest
  local newest = math.min(64, redis.call('LLEN', rings[t]) - front)
  for _, seat in ipairs(newest > 0 and redis.call('LRANGE', rings[t], -newest, -1) or {}) do
    found[#found + 1] = seat
  end
  local order = {}
  for k, seat in ipairs(found) do
    local home, name = string.sub(seat, 1, 1), string.sub(seat, 13)
    local since, jobs = tonumber(string.sub(seat, 2, 12), 16) or 0, nil
    if string.find(home, '[4-7]') then
      jobs = tonumber(ours('HGET', base .. ':tn:' .. name, 'e' .. home - 4) or 0)
    else
      jobs = redis.pcall('LLEN', base .. ':q:' .. home .. ':' .. name)
    end
    jobs = type(jobs) == 'number' and jobs or 0
    order[k] = {seat, since < overdue and since - 1e15 or jobs, k}
  end
  table.sort(order, function(a, b) return a[2] < b[2] or a[2] == b[2] and a[3] < b[3] end)
  for k, entry in ipairs(order) do found[k] = entry[1] end
  seats.lined[t] = {front, newest, {unpack(found)}}
end
