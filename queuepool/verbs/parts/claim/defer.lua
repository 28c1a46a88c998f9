serve = function(t, share, n)
  for level = 0, levels do -- each takes what the lanes below it have left
    local before = planned
    allowed = level
    visit(t, share, n)
    share = share - planned + before
  end
end
