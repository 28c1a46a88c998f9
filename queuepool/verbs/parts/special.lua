-- Whether jobs have unique keys or expire. uk: id -> e or s, and the unique key of the job; u:
-- unique key -> id of the job that holds it until it ends (e) or starts (s; S: it did); ex: id ->
-- stamp of the body and the ms by which the job must start.
local special = redis.call('EXISTS', base .. ':uk', base .. ':ex') > 0 -- rare
if special then
  for _, k in ipairs({'u', 'uk', 'ex'}) do redis.call('HLEN', base .. ':' .. k) end
end
