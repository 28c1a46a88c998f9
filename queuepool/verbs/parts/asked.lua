local function asked(book) -- in-flight ids with a cancel request; cn may hold anything else
  local ids, found, cn = {}, {}, base .. ':cn'
  if redis.call('HLEN', cn) > 0 then ids = redis.call('ZRANGE', book, 0, 9999) end
  for i = 1, #ids, 1000 do
    local marks = redis.call('HMGET', cn, unpack(ids, i, math.min(i + 999, #ids)))
    for k, mark in ipairs(marks) do if mark then found[#found + 1] = ids[i + k - 1] end end
  end
  return found
end
