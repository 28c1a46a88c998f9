-- Of a job that names limits: its state and its gate, from lm. States: p (parked), the epoch of the
-- owner that admitted it, c (it was claimed since), 0 (it was never at its gate)
local function gate_of(said) return string.match(said or '', '^([^|]*)|(.+)$') end
