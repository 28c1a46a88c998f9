-- uses: ours
-- What is recorded of a limit
local li = base .. ':li:' .. name
local FIELDS = {'set', 'code', 'paused', 'tat', 'until', 'told', 'pace', 'cut', 'seen', 'granted',
  'since', 'n0', 'n1', 'used', 'askers', 'summed', 'at'}
local known = {}
for k, text in ipairs(ours('HMGET', li, unpack(FIELDS)) or {}) do known[FIELDS[k]] = text end
