-- Concludes a batch that is complete, or late: its continuation becomes due, or dies. Returns how.
-- An early one, whose producer is still to store the continuation, stays open until that is there:
-- nobody would tell it the verdict. It is looked at again, after a quarter of the time for which it
-- has been late, and before the continuation, an hour after the deadline, would run by itself.
local function conclude(batch)
  local due, late, after, keep, _, _, part = unpack(batch.more)
  local complete = is_complete(batch.f)
  if not complete and (batch.early or now < whole(due)) then
    local late_ms = now - whole(due)
    local pause = math.min(1800000, 500 + math.floor(late_ms / 4))
    redis.call('ZADD', bd, late_ms < 0 and whole(due) or now + pause, batch.name)
    return nil
  end
  local failed = complete and batch.f[7] == 'f' and whole(batch.f[5]) + whole(batch.f[6]) > 0
    or not complete and (late == 'f' or part == 'g' and batch.f[2] ~= '1') -- enqueued in part
  local verdict = failed and 'failed' or 'fired'
  redis.call('HSET', base .. ':b:' .. batch.name, 'state', verdict,
    'why', complete and 'complete' or 'deadline', 'ended', now)
  redis.call('ZADD', bd, now + math.max(60000, whole(keep)), batch.name)
  if not batch.waits then return 'gone' end -- it was cancelled, or runs already
  if failed then
    leave_delayed(after, group_of(batch.body))
    bury(after, base .. ':g:' .. group_of(batch.body), #batch.body, why_failed(batch, not complete))
  else
    move_due(after, now)
  end
  return verdict
end
