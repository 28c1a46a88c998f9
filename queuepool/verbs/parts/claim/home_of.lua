local function home_of(k) -- the tier of the lane that the k-th id came from
  local last = 0
  for _, t in ipairs(active) do
    for i = 1, served[t] do
      last = last + lanes[t][i].take
      if k <= last then return lanes[t][i].home end
    end
  end
end
