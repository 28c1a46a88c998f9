-- Whether jobs have unique keys, expire, or name limits. uk: id -> e or s, and the unique key of
-- the job; u: unique key -> id of the job that holds it until it ends (e) or starts (s; S: it did);
-- ex: id -> stamp of the body and the ms by which the job must start; lm: id -> state and gate.
-- What of it there is; false: none of the last three, as nearly always
local special = redis.call('EXISTS', base .. ':uk', base .. ':ex', base .. ':lm') > 0 and {}
if special then
  for _, k in ipairs({'u', 'uk', 'ex', 'lm', 'ga'}) do
    special[k] = redis.call('HLEN', base .. ':' .. k) > 0
  end
end
