-- Prefetching implies short jobs: longer turns cost less, and nobody waits for a round of 600 jobs
local turns = shortest and 1 or limit > starting and 8 or 32
local function visit(at, share, n) -- whose turn in a ring, and how many of each: only reads
  local here, quantum, moved = seats[at], share, true
  if #here > 1 then
    local width = extra and #here + extra[at] or #here
    local wide = turns == 8 and math.ceil(width / 3) or turns
    quantum = math.ceil(share / math.min(width, n, math.max(wide, turns)))
  end
  while share > 0 and moved do
    moved = false
    for i = 1, math.min(#here, n + reach - limit) do
      local lane = here[i]
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
        if lane.room and lane.room.moved then
          -- uses: claim/place
        end
        if ahead then
          lane.level = not (lane.room and lane.room.weight > 1) and ahead[home .. group]
        end
        if size == 0 and string.find(home, '[4-7]') then
          -- uses: claim/tenant
        end
        here[i] = lane
      end
      if i > visited[at] then
        visited[at], lane.take = i, 0
        if lane.length then
          visited[lane], seats[lane], lane.left = 0, {}, nil
          lane.size = lane.length > 0 and 1 / 0 or 0
          if extra then extra[lane] = 0 end
        end
        if lane.room then lane.owed = math.max(0, lane.room.owed[lane.home] or 0) end
      end
      local take, room = math.min(quantum, lane.size - lane.take, share), lane.room
      if allowed and lane.level and lane.level > allowed then
        take = 0
      elseif room then
        local turn = lane.owed > 0 and lane.owed or quantum * room.weight
        take = math.min(turn, lane.size - lane.take, share, room.most - room.taken)
        if lane.length and take > 0 then
          -- uses: claim/turn_of_tenant
        end
        lane.owed = room.weight > 1 and not alone[at] and turn - take or 0
        room.taken = room.taken + take
      elseif lane.length and take > 0 then
        -- uses: claim/turn_of_tenant
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
