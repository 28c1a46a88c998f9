-- uses: clock
-- Ended ids are remembered in two sets. After a minute in use, or when it is full, a set is
-- replaced by the other, which is freed first: an id is remembered for at least a minute, or for
-- 2,000,000 ends.
-- finish needs all but the first two
local sets = redis.call('HMGET', c, 'dn', 'dn_since', 'done', 'bytes', 'rare', 'tried')
sets[1] = sets[1] == '1' and '1' or '0'
local dn, age = base .. ':dn:' .. sets[1], now - (tonumber(sets[2]) or 0)
-- Below 0: the clock went back, the minute restarts
local over, stands = nil, age >= 0 and age < 60000
if redis.call('SCARD', dn) >= 2000000 or age >= 60000 then
  over = age >= 120000 and {dn} or {}
  sets[1], stands = sets[1] == '1' and '0' or '1', false
  dn = base .. ':dn:' .. sets[1]
  redis.call('SCARD', dn)
  over[#over + 1] = dn
end
