-- uses: later_stamp
-- A body as if it were enqueued now; cut: of the latest cancellation
local function restamp(body, cut)
  local old = string.match(body, '^1[0-3](' .. string.rep('%x', 11) .. ')')
  if not old then return body end -- of another layout: a later version can read it
  local stamp, before = math.max(now, cut + 1), tonumber(old, 16)
  if stamp <= before then stamp = later_stamp(before, cut) end
  return string.sub(body, 1, 2) .. string.format('%011x', stamp) .. string.sub(body, 14)
end
