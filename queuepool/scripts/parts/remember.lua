-- The set of ids that ended in this minute; kept until the next minute is over.
local window = math.floor(now / 60000)
local dn = base .. ':dn:' .. window % 2
redis.call('SCARD', dn)
