-- The error of a continuation that dies as jobs of its batch failed
local function why_failed(batch, late)
  local total, done = math.max(whole(batch.f[3]), whole(batch.more[5])), whole(batch.f[4])
  local dead, lost = whole(batch.f[5]), whole(batch.f[6])
  local numbers = {}
  local page = redis.call('HSCAN', base .. ':bf:' .. batch.name, 0, 'COUNT', 20)[2]
  for k = 1, #page, 2 do
    local returned = string.sub(page[k + 1], 1, 1) == 'r'
    if not returned and #numbers < 20 then numbers[#numbers + 1] = tonumber(page[k]) end
  end
  table.sort(numbers)
  local what = batch.more[7] == 'g' and 'steps that it follows' or 'jobs of its batch'
  local said = string.format('of %.0f %s, %.0f are done, %.0f dead, %.0f cancelled,'
    .. ' expired or deleted, and %.0f have not ended', total, what, done, dead, lost,
    math.max(0, total - done - dead - lost))
  if late then said = said .. ' by the deadline' end
  if #numbers > 0 then said = said .. '; numbers ' .. table.concat(numbers, ', ') end
  if dead + lost > #numbers then said = said .. ' and others' end
  return '{"reason":"batch-failed","message":"' .. said .. '"}'
end
