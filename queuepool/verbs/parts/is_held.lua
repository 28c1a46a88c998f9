-- On record of a held task: the ms since when, and how envelopes of its jobs begin. Of a released
-- one: 0, or 1 while its jobs are being made due.
local function is_held(task)
  return string.find(redis.call('HGET', base .. ':ht', task) or '', '^%d+%[') ~= nil
end
