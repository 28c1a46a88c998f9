-- uses: add
-- n jobs of a group are parked no more
local function unpark(group, n)
  add(c, 'parked', -n)
  add(base .. ':g:' .. group, 'parked', -n)
end
