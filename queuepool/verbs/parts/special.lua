-- Whether jobs ask for more than to be run. uk: id -> e or s, and the unique key of the job; u:
-- unique key -> id of the job that holds it until it ends (e) or starts (s; S: it did); ex: id ->
-- stamp of the body and the ms by which the job is to start.
local special = redis.call('EXISTS', base .. ':uk', base .. ':ex') > 0 -- seldom
if special then
  for _, k in ipairs({'u', 'uk', 'ex'}) do redis.call('HLEN', base .. ':' .. k) end
end
