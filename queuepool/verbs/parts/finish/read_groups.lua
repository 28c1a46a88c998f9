-- What is written later is touched before the first write, so that it is known to be in reach. The
-- type is no matter: SET takes any, and count_done replaces another one.
local groups, tenants = 4 + ARGV[3], nil -- where groups begin in ARGV; groups of tenants, if any
local touched = {}
local i = groups
while i <= words do
  touched[#touched + 1] = base .. ':g:' .. ARGV[i]
  if string.byte(ARGV[i]) == 255 then -- perhaps of a tenant
    -- uses: finish/of_tenant
  end
  local last = i + 3
  if ARGV[last] ~= '0' then last = last + 3 * ARGV[last] end
  for k = i + 4, last, 3 do touched[#touched + 1] = base .. ':r:' .. ARGV[k] end
  i = last + 1
end
redis.call('EXISTS', unpack(touched))
