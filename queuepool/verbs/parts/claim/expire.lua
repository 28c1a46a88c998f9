-- Jobs that should have started by now end here.
-- uses: group_of, tier_of, remember, settle, add, let_go, tally, tell
local gone = {}
for k, said in ipairs(redis.call('HMGET', base .. ':ex', unpack(ids))) do
  local id, body = ids[k], bodies[k]
  -- With another stamp it is what a version that knows no such jobs left of one that had this id
  if said and body and string.sub(said, 1, 11) == string.sub(body, 3, 13)
    and (tonumber(string.sub(said, 12)) or now + 1) <= now then
    local group, tier = group_of(body), tier_of(body)
    local g = base .. ':g:' .. group
    if rooms and rooms[group] then
      taken[tier] = taken[tier] - 1
      add(g, 'w' .. tier, -1)
    end
    tell(id, 'e')
    redis.call('HDEL', base .. ':j', id)
    for _, k in ipairs(traces and {'at', 'cr', 'er'} or {}) do -- of a job replaced after a failure
      redis.call('HDEL', base .. ':' .. k, id)
    end
    remember({'!' .. id, '~' .. id}, 1, 2)
    add(c, 'bytes', 0 - #body) -- not -#: Redis 7.0 rejects -0
    add(c, 'expired', 1)
    add(g, 'expired', 1)
    tally(group, 'expired', 1)
    settle(g, 1)
    gone[#gone + 1] = id
    bodies[k] = nil -- no mark: it leaves the count of ready jobs only now
  end
end
if #gone > 0 then let_go(gone, 1, #gone) end
