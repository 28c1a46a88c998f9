-- Jobs of held tasks wait for the release, in their order. Those that were admitted at gates have
-- been there before.
-- uses: group_of, tier_of, delay, until_release, whole, gate_of, unadmit, add
local function held_task(body, group)
  local at = 19 + #group
  for task, begins in pairs(held) do
    if string.sub(body, at, at + #begins - 1) == begins then return task end
  end
end
-- uses: behind
behind = math.max(behind, now)
local apart = 0
for k, id in ipairs(ids) do
  local body = bodies[k]
  local group = body and group_of(body)
  local task = body and held_task(body, group)
  if task then
    local tier, g = tier_of(body), base .. ':g:' .. group
    apart = apart + 1
    redis.call('HSET', base .. ':ua', id, task)
    delay(id, tier, group, behind + until_release + apart / 512)
    local state, gate = gate_of(redis.call('HGET', base .. ':lm', id))
    if state and string.find(state, '^[1-9]') then
      unadmit(gate)
      redis.call('HSET', base .. ':lm', id, 'c|' .. gate)
    end
    if rooms and rooms[group] then
      taken[tier] = taken[tier] - 1
      add(g, 'w' .. tier, -1)
      if redis.call('HEXISTS', g, 'serial') == 1 then redis.call('HSET', g, 'rt', id) end
    end
    bodies[k] = nil -- no mark: it leaves the count of ready jobs only now
  end
end
if apart > 0 then redis.call('HSET', c, 'aside', string.format('%.0f', behind + 1)) end
