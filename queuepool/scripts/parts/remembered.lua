local function remembered(dn, since) -- the sets with ids that may have ended in the last minute
  local found, age = {}, now - (tonumber(since) or 0)
  for p = 0, 1 do
    local key = base .. ':dn:' .. p
    if age < (tonumber(dn) == p and 120000 or 60000) or redis.call('PTTL', key) >= 0 then -- of an older release
      found[#found + 1] = key
    end
  end
  return found
end
