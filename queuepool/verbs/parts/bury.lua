-- uses: bury_all
local function bury(id, g, size, problem) -- a job that has left its place is dead
  bury_all({{id = id, group = string.sub(g, #base + 4), size = size, problem = problem}})
end
