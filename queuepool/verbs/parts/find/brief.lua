local function brief(er) -- an error without its traceback
  local cut = string.find(er, ',"traceback":', 1, true)
  return string.sub(er, 1, math.min(cut and cut - 1 or #er, 1600))
end
