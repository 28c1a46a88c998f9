-- uses: clock, whole, ours
-- What is recorded of a limit. A new one: which of some names are of limits that are forgotten.
local us = time[1] * 1000000 + time[2]
local li, ls = base .. ':li:' .. name, base .. ':ls'
local FIELDS = {'set', 'code', 'paused', 'tat', 'until', 'told', 'pace', 'cut', 'seen', 'granted',
  'since', 'n0', 'n1', 'used', 'askers', 'summed', 'at'}
local known, forgotten = {}, {}
for k, text in ipairs(ours('HMGET', li, unpack(FIELDS)) or {}) do known[FIELDS[k]] = text end
ours('ZCARD', ls)
for _, other in ipairs(not known.at and ours('ZRANDMEMBER', ls, 5) or {}) do
  if ours('HLEN', base .. ':li:' .. other) == 0 then forgotten[#forgotten + 1] = other end
end
