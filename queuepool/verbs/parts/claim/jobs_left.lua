-- How many jobs a tenant has in its lanes when this claim has taken its own; if at most 16
-- uses: ours
local few = lane.length - visited[lane] <= 16 and not (lane.room and lane.room.most == 0)
local left = 0
for k = 1, few and visited[lane] or 0 do
  left = left + seats[lane][k].size - seats[lane][k].take
end
for _, seat in ipairs(few and redis.call('LRANGE', lane.ring, visited[lane], -1) or {}) do
  local key = base .. ':q:' .. string.sub(seat, 1, 1) .. ':' .. string.sub(seat, 13)
  left = left + (ours('LLEN', key) or 0)
end
if few then lane.left = left end
