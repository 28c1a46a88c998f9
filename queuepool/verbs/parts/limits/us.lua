-- uses: clock
local us = time[1] * 1000000 + time[2]
