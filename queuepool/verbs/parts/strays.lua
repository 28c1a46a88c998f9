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
