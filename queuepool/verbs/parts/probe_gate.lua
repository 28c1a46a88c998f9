-- uses: ours
-- Before the first write: what `park` and `admit` touch that is named after a group
local function probe_gate(gate, tier, group)
  local place = tier .. ':' .. gate
  ours('LLEN', base .. ':gr:' .. place)
  ours('LLEN', base .. ':gq:' .. place .. '~' .. group)
  ours('SCARD', base .. ':gg:' .. group)
  ours('HLEN', base .. ':g:' .. group)
end
