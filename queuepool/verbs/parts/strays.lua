-- uses: holder_of
-- Records of jobs that do not exist, or do not run: the first 200 of each kind.
local strays = {}
for _, k in ipairs(cursor == '0' and {'at', 'cr', 'er', 'pr', 'cn', 'uk', 'ex', 'lm'} or {}) do
  local notes = redis.call('HSCAN', base .. ':' .. k, 0, 'COUNT', 200)[2]
  for i = 1, #notes, 2 do
    local id = notes[i]
    local stands = redis.call('HEXISTS', j, id) == 1
    if stands and (k == 'pr' or k == 'cn') then
      stands = false
      for _, e in ipairs(epochs) do stands = stands or ours('ZSCORE', base .. ':fl:' .. e, id) end
    end
    if not stands then strays[#strays + 1] = {base .. ':' .. k, id} end
  end
end
-- Unique keys of jobs that do not exist, or are dead.
local held = cursor == '0' and redis.call('HSCAN', base .. ':u', 0, 'COUNT', 200)[2] or {}
for i = 1, #held, 2 do
  if not holder_of(held[i]) then strays[#strays + 1] = {base .. ':u', held[i]} end
end
-- What is noted of gates, and of lanes there, at which nothing waits.
local noted = cursor == '0' and redis.call('HSCAN', base .. ':gk', 0, 'COUNT', 200)[2] or {}
for i = 1, #noted, 2 do
  local waits = redis.call('HEXISTS', base .. ':gt', noted[i]) == 1
  if string.find(noted[i], '~', 1, true) then -- of a lane: no gate has such a name
    waits = (ours('LLEN', base .. ':gq:' .. noted[i]) or 0) > 0
  end
  if not waits then strays[#strays + 1] = {base .. ':gk', noted[i]} end
end
