-- uses: whole
-- f: tier and moved of a group's record. The tier whose turns its lane of a tier has, and the least
-- stamp of a seat there: an older seat is from before the group changed its tier, and is dropped
local function place_of(f, own)
  local moved = whole(f[2])
  if moved >= 17592186044416 then moved = 0 end -- 2^44: a stamp has 11 digits
  return f[1] and string.match(f[1], '^[0-3]$') or own, moved
end
