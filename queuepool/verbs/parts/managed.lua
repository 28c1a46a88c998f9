-- uses: ours
-- Whether any group with work left has settings: claims ask about it, its record counts its jobs.
local managed = redis.call('HLEN', base .. ':mg') > 0
if managed then
  -- uses: probe_managed
end
