-- uses: whole
-- From c; 0 if invalid: a stamp made from it must keep its 11 digits
local function newest_cut(text)
  local cut = whole(text)
  return cut < 8796093022208 and cut or 0 -- 2^43, the year 2248
end
