-- uses: give_seat
-- A group with a hold has no work left. What stands in its lanes are marks: claims may take them.
local function rest(g)
  local group = string.sub(g, #base + 4)
  if redis.call('HDEL', base .. ':mg', group) == 0 then return end
  for t = 0, 3 do
    if redis.call('HDEL', g, 'o' .. t) == 1 then give_seat({tier = t, group = group}) end
  end
end
