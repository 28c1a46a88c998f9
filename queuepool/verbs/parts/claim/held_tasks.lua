-- What is on record of tasks (is_held): those held, and whether others were released.
local recorded = redis.call('HGETALL', base .. ':ht')
for k = 1, #recorded, 2 do
  local begins = string.match(recorded[k + 1], '^%d+(%[.*)$')
  tasks = true
  if begins then
    held = held or {}
    held[recorded[k]] = begins
  elseif roused ~= '0' and recorded[k + 1] ~= '2' then
    roused = recorded[k + 1] == '1' and '1' or '0'
  end
end
