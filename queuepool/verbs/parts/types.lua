-- Keys of the partition with a value of another type: what needs them cannot go on before it is
-- gone.
local kinds = {c = 'hash', dl = 'zset', dead = 'zset', rec = 'list', wk = 'list', cmd = 'stream'}
local wrong, freed = 0, 0
for _, k in ipairs({'j', 'o', 'dr', 'ck', 'at', 'cr', 'er', 'pr', 'cn', 'cx', 'ua'}) do
  kinds[k] = 'hash'
end
for t = 0, 3 do kinds['ring:' .. t] = 'list' end
for p = 0, 1 do kinds['dn:' .. p] = 'set' end
local owned = redis.call('TYPE', base .. ':o').ok == 'hash'
  and redis.call('HGET', base .. ':o', 'epoch')
if owned then kinds['fl:' .. owned] = 'zset' end
for k, kind in pairs(kinds) do
  local fixed = base .. ':' .. k
  local found = redis.call('TYPE', fixed).ok
  if found ~= 'none' and found ~= kind then
    wrong = wrong + 1
    if repair and redis.acl_check_cmd('UNLINK', fixed) then
      freed = freed + redis.call('UNLINK', fixed)
    end
  end
end
