local TIERS = {[48] = '0', [49] = '1', [50] = '2', [51] = '3'} -- by the byte that writes it
local function tier_of(body) return TIERS[string.byte(body, 2)] or '2' end
