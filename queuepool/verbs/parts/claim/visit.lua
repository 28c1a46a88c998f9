-- Prefetching implies short jobs: longer turns cost less, and nobody waits
local turns = limit > starting and 8 or 32
local function visit(t, share, n) -- whose turn, and how many of each: only reads
  local seats = lanes[t]
  local quantum, moved = share, true
  if #seats > 1 then
    local width = rooms and #seats + extra[t] or #seats
    quantum = math.ceil(share / math.min(width, n, turns))
  end
  while share > 0 and moved do
    moved = false
    for i = 1, math.min(#seats, n) do
      local lane = seats[i]
      if type(lane) == 'string' then
        local home, group = string.sub(lane, 1, 1), string.sub(lane, 13)
        local key = base .. ':q:' .. home .. ':' .. group
        local size = redis.pcall('LLEN', key)
        if type(size) == 'table' then
          foreign = foreign or {}
          foreign[key] = size
          size = 0
        end
        lane = {key = key, home = home, group = group, size = size, take = 0}
        lane.room = rooms and rooms[group]
        seats[i] = lane
      end
      if i > served[t] then
        served[t], lane.take = i, 0
        if lane.room then lane.owed = math.max(0, lane.room.owed[lane.home] or 0) end
      end
      local take, room = math.min(quantum, lane.size - lane.take, share), lane.room
      if room then
        local turn = lane.owed > 0 and lane.owed or quantum * room.weight
        take = math.min(turn, lane.size - lane.take, share, room.most - room.taken)
        lane.owed = room.weight > 1 and not alone[t] and turn - take or 0
        room.taken = room.taken + take
      end
      if take > 0 then
        lane.take = lane.take + take
        share = share - take
        planned = planned + take
        moved = true
      end
      if share == 0 then break end
    end
  end
end
