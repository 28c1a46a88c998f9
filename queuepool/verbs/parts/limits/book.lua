-- Tokens by the generic cell rate algorithm, `apart` from each other from `first` on, which may lie
-- up to 1 s ahead. While owners stand in line, the first of them has the next ones, unless they
-- would be wasted. tat: when the next token is due.
local granted, first, apart, again, tat = 0, us, 0, 0, whole(known.tat)
local _, next_one = line(lt, tickets)
if d.rate == 0 and wait > us then
  again = wants > 0 and wait or 0
elseif d.rate == 0 then
  granted = wants
elseif wants > 0 then
  apart = d.per / pace
  -- Further ahead if the clock went back, or the rate was lower
  tat = math.ceil(math.min(tat, math.max(wait, us + 1000000 + math.max(apart, 100000))))
  first = math.ceil(math.max(tat, wait, us - (d.burst - 1) * apart))
  if first > us + 1000000 or first > us and not next_one then
    again = math.max(first - 1000000, us + 20000)
  else
    local ripe = math.floor((us - first) / apart) + 1
    granted = math.min(wants, math.max(1, math.floor(pace * 100000 / d.per), ripe))
    tat = math.ceil(first + granted * apart)
  end
end
local ticket = again > 0 and d.rate > 0
if ticket then
  if redis.call('ZADD', lt, 'NX', now, asker) == 1 then redis.call('PEXPIRE', lt, 86400000) end
elseif tickets > 0 then
  redis.call('ZREM', lt, asker)
end
