-- uses: count_able, place_of, whole
-- The tier of a group changed: its jobs that may be claimed count in that one
local function shift(was)
  local f = redis.call('HMGET', g, 'tier', 'c0', 'c1', 'c2', 'c3')
  for t = 0, 3 do
    local from, to, jobs = place_of({was}, t), place_of(f, t), whole(f[2 + t])
    if jobs > 0 and from .. '' ~= to .. '' then
      count_able(from, group, -jobs)
      count_able(to, group, jobs)
    end
  end
end
