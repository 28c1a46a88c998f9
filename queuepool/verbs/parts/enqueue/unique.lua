-- What jobs ask for, by place in the call; who holds each unique key; the places of jobs kept out
-- by another one, or put in its place, and which one that is.
local wishes, holders, replace, noted, limited = {}, {}, nil, false, nil
kept, by = {}, {}
-- uses: holder_of
for _, k in ipairs({'u', 'uk', 'ex', 'lm', 'gt'}) do redis.call('HLEN', base .. ':' .. k) end
for k = words + 1, #ARGV, 5 do
  local place, key, ms = tonumber(ARGV[k]), ARGV[k + 2], tonumber(ARGV[k + 3])
  local until_when, mode = string.match(ARGV[k + 1], '^([es]?)([rd]?)$')
  local gate = string.match(ARGV[k + 4] or '|', '^[%w_.:@/,-]*$')
  if not place or not ms or not mode or ms < 0 or ms > 9e15 or not gate or #gate > 259
    or string.find(gate, '^,') then
    return {'REFUSED', 'run', 0, 0}
  end
  local wish = {key = until_when ~= '' and key, said = until_when .. key, ms = ms, mode = mode}
  wish.gate = gate ~= '' and gate
  if mode ~= '' and not replace then
    late = late or true
    -- uses: enqueue/replace
  end
  if wish.key then
    if #key < 1 or #key > 512 then return {'REFUSED', 'unique', #key, 512} end
    holders[key] = holders[key] or holder_of(key)
  end
  wishes[place] = wish
  limited = limited or wish.gate
end
if limited then
  redis.call('SCARD', base .. ':ll')
  -- uses: enqueue/probe_gates
end
-- Returns true if a job is kept out, or takes the place of another
clashes = function(place, id, tail, group, delay)
  local wish = wishes[place]
  if not wish or redis.call('HEXISTS', j, id) == 1 then return end
  local holder = wish.key and holders[wish.key]
  if holder then
    local instead = wish.mode ~= '' and replace(holder, wish, tail, group, delay)
    kept[#kept + 1], by[#by + 1] = {place, instead and '3' or '2'}, holder
    if instead then replaced = replaced + 1 end
    return true
  end
  noted = noted or redis.call('HSET', c, 'rare', 1) -- any reply is true
  if wish.key then
    holders[wish.key] = id
    redis.call('HSET', base .. ':u', wish.key, id)
    redis.call('HSET', base .. ':uk', id, wish.said)
  end
  if wish.ms > 0 then
    redis.call('HSET', base .. ':ex', id, stamp .. string.format('%.0f', now + wish.ms))
  end
  if wish.gate then
    gates = gates or {}
    gates[id] = wish.gate
  end
end
