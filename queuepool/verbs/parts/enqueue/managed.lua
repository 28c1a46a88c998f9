-- The group has settings, and may have had no work left
-- uses: list_managed
list_managed(group)
tuned = tuned or {}
tuned[#tuned + 1] = group
if delay <= 0 then
  -- uses: add
  add(g, 'w' .. tier, n)
end
