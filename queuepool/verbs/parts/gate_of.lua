-- Of a job that names limits: its state and its gate, from lm; nil if these are none, and it names
-- no limits then. States: p (parked), the epoch of the owner that admitted it, c (it was claimed
-- since), 0 (it was never at its gate)
local function gate_of(said)
  local state, gate = string.match(said or '', '^([^|]*)|([%w_.:@/-][%w_.:@/,-]*)$')
  if state and #gate <= 259 then return state, gate end
end
