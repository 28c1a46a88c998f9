-- uses: whole
-- How many ms a group without work is `kept`: a minute per job, at most a day; or for as long as
-- its settings are. One with jobs that changed its tier, for a day: its record tells which of its
-- seats count. total: its jobs; keep, moved: of its record
local kept = math.max(60000, math.min(86400000, math.floor(60000 * total)))
if moved and total > 0 then kept = 86400000 end
kept = math.max(kept, whole(keep))
