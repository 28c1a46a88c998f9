-- uses: whole
local function definition_of(text) -- as numbers, 0: none; nil if the text is not one
  local rate, per, burst, permits, least, most =
    string.match(text or '', '^(%d+):(%d+):(%d+):(%d+):(%d+):(%d+)$')
  local d = {rate = whole(rate), per = whole(per), burst = math.max(1, whole(burst)),
    permits = whole(permits), least = math.max(1, whole(least)), most = whole(most)}
  if not rate or math.max(d.rate, d.burst, d.permits, d.most) > 1e6 or d.per > 1e13 then return end
  if (d.rate > 0) ~= (d.per > 0) or d.rate + d.permits == 0 or d.least > math.max(1, d.most) then
    return
  end
  return d
end
