-- uses: wake, ours
-- The outcome of a job of a batch, for the owner to relay (as: d done, x dead, r back from the
-- dead, c cancelled, e expired, v evicted, g discarded). The id of no other job has a '~'.
redis.call('XLEN', base .. ':fo')
ours('LLEN', base .. ':wk')
local function tell(id, as, text)
  if not string.find(id, '~', 1, true) then return end
  local body = redis.call('HGET', base .. ':j', id) or ''
  local stamp = #body >= 13 and string.sub(body, 3, 13) or string.rep('0', 11)
  redis.call('XADD', base .. ':fo', '*', id, as .. stamp .. (text or ''))
  if redis.call('XLEN', base .. ':fo') == 1 then wake('f') end
end
