-- Whether jobs that name limits may stand in any of the lanes that have a turn; notes in which
local function may_be_limited()
  local places, names, found = {}, {}, false
  if redis.call('SCARD', base .. ':ll') == 0 then return false end
  for _, t in ipairs(active) do
    for i = 1, served[t] do
      places[#places + 1] = lanes[t][i]
      names[#places] = lanes[t][i].home .. ':' .. lanes[t][i].group
    end
  end
  if #names == 0 then return false end
  for k, noted in ipairs(redis.call('SMISMEMBER', base .. ':ll', unpack(names))) do
    places[k].limited = noted == 1
    found = found or noted == 1
  end
  return found
end
