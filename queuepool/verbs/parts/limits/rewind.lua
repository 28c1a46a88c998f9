-- Until when owners wait as a downstream told them; not longer when the clock went back
local told, wait = whole(known.told), whole(known['until'])
if told > us then wait, told = math.max(0, us + wait - told), us end
