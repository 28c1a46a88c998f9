-- Groups of jobs in the order in which they come, and how many jobs each has
local function by_group(jobs)
  local groups, count = {}, {}
  for _, job in ipairs(jobs) do
    if not count[job.group] then groups[#groups + 1] = job.group end
    count[job.group] = (count[job.group] or 0) + 1
  end
  return groups, count
end
