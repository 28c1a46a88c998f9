-- Whether an id of a set may have ended in the last minute
local function remembered(set, in_use, age)
  return age < (in_use and 120000 or 60000) or redis.call('PTTL', set) >= 0 -- of an older release
end
