-- Deletes a batch, at most so many pages of its results in one call. Returns whether all of it is
-- gone, and how many pages more may go.
local function forget_batch(batch, budget)
  local page, pages = whole(batch.more[6]), math.ceil(whole(batch.more[5]) / 128)
  while page < pages and budget > 0 do
    redis.call('UNLINK', base .. ':br:' .. batch.name .. ':' .. string.format('%.0f', page))
    page, budget = page + 1, budget - 1
  end
  if page < pages then
    redis.call('HSET', base .. ':b:' .. batch.name, 'swept', page)
    return false, budget
  end
  redis.call('UNLINK', base .. ':bb:' .. batch.name)
  redis.call('UNLINK', base .. ':bf:' .. batch.name)
  redis.call('UNLINK', base .. ':b:' .. batch.name)
  redis.call('ZREM', bd, batch.name)
  return true, budget
end
