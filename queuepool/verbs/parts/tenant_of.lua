-- The tenant of a group, which is in its name; nil of a plain group
local function tenant_of(group) return string.match(group, '^\255\255([^\255]+)\255.') end
