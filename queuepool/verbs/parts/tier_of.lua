local function tier_of(body) return string.match(body, '^.([0-3])') or '2' end
