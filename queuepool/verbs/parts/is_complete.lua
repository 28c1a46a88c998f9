-- uses: whole
local COUNTS = {'state', 'sealed', 'total', 'done', 'dead', 'lost', 'how'}
-- Whether nothing is left to wait for. f: these fields of a batch that has not concluded
local function is_complete(f)
  local ended = whole(f[4]) + whole(f[5]) + whole(f[6])
  return f[2] == '1' and ended >= whole(f[3]) and (f[7] ~= 'w' or whole(f[5]) <= 0)
end
