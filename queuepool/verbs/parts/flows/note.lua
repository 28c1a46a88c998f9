-- uses: add, whole
-- The outcome of one job; returns whether that is news. Of one that is not done, or that came back,
-- `bf` tells how it ended, with the stamp of its last death, that of its last return from the dead,
-- and the error. Partitions tell of a job that moves in any order: stamps tell which is newer. Each
-- return has a later one than the death before it, and the next death the same, or a later one.
local function note(batch, number, as, stamp, text)
  local b, failed, bits = base .. ':b:' .. batch, base .. ':bf:' .. batch, base .. ':bb:' .. batch
  local ended, never = redis.call('GETBIT', bits, number) == 1, string.rep('0', 11)
  local was = redis.call('HGET', failed, number) or ''
  local how, death, back = string.sub(was, 1, 1), string.sub(was, 2, 12), string.sub(was, 13, 23)
  if ended and how ~= 'x' then return false end
  local old = stamp <= death or stamp < back or as == 'r' and stamp == back
  if old and (as == 'x' or as == 'r') then return false end
  if as == 'r' then
    redis.call('HSET', failed, number, 'r' .. (death == '' and never or death) .. stamp)
    if not ended then return false end -- its death is still to come
    redis.call('SETBIT', bits, number, 0)
    add(b, 'dead', -1)
    return true
  end
  local count = as == 'd' and 'done' or as == 'x' and 'dead' or 'lost'
  if as == 'd' then
    local page = base .. ':br:' .. batch .. ':' .. string.format('%.0f', math.floor(number / 128))
    if text ~= '' then redis.call('HSET', page, number % 128, text) end
    if how ~= '' then redis.call('HDEL', failed, number) end
  else
    -- Of the first thousand with their errors: all of them might take more than the jobs
    if redis.call('HLEN', failed) >= 1000 then text = '' end
    redis.call('HSET', failed, number, as .. stamp .. (back == '' and never or back) .. text)
    if ended and as == 'x' then return false end -- its return is still to come
  end
  redis.call('SETBIT', bits, number, 1)
  if ended then add(b, 'dead', -1) end
  add(b, count, 1)
  if number >= whole(redis.call('HGET', b, 'top')) then redis.call('HSET', b, 'top', number + 1) end
  return true
end
