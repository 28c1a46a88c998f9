serve = function(t, share, n)
  local before = planned
  defers = true
  visit(t, share, n)
  defers = false
  share = share - planned + before
  if share > 0 then visit(t, share, n) end -- the others have left something
end
