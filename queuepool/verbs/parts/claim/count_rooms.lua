-- The record of a managed group counts its jobs
-- uses: group_of, tier_of, add
for _, body in ipairs(texts) do
  local group, tier = group_of(body), tier_of(body)
  if rooms[group] then
    taken[tier] = (taken[tier] or 0) - 1
    add(base .. ':g:' .. group, 'w' .. tier, -1)
  end
end
