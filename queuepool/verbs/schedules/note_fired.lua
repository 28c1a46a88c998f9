#!lua flags=allow-oom
-- note_fired: store what the leader has done of schedules, unless another process leads by now.
-- ROLES   coordinator ops
-- KEYS[1] system base; derived: schedules fired leader
-- ARGV    leader epoch, then name and what was done of each
-- Returns how many were stored, of schedules that are still there; -1 if another process leads.
--         O(n).
local schedules, fired, noted = KEYS[1] .. ':schedules', KEYS[1] .. ':fired', {}
if redis.call('HGET', KEYS[1] .. ':leader', 'epoch') ~= ARGV[1] then return -1 end
for i = 2, #ARGV, 2 do
  if redis.call('HEXISTS', schedules, ARGV[i]) == 1 then
    noted[#noted + 1], noted[#noted + 2] = ARGV[i], ARGV[i + 1]
  end
end
if #noted > 0 then redis.call('HSET', fired, unpack(noted)) end
return #noted / 2
