-- Prefetching implies short jobs: longer turns cost less, and nobody waits
local turns = limit > starting and 8 or 32
local function visit(t, share, n) -- whose turn, and how many of each: only reads
  local seats = lanes[t]
  local quantum, moved = share, true
  if #seats > 1 then quantum = math.ceil(share / math.min(#seats, n, turns)) end
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
      if i > served[t] then served[t], lane.take = i, 0 end
      local take, room = math.min(quantum, lane.size - lane.take, share), lane.room
      if room then
        take = math.max(0, math.min(take, room.most - room.taken))
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
