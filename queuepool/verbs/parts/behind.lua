-- uses: whole
-- The ms `behind` which the next job that is set aside is due
local behind = whole(redis.call('HGET', c, 'aside'))
if behind > now + 120000 then behind = 0 end -- the clock went back
