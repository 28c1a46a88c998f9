-- Keys of the partition with a value of the wrong type: verbs that need them are blocked until it
-- is gone.
local kinds = {c = 'hash', dl = 'zset', du = 'zset', dead = 'zset', rec = 'list', wk = 'list',
  cmd = 'stream', ls = 'zset', bd = 'zset', fo = 'stream', h = 'list', mv = 'set', mn = 'set',
  ll = 'set'}
local hashes = {'j', 'o', 'dr', 'ck', 'at', 'cr', 'er', 'pr', 'cn', 'cx', 'ua', 'ht', 'u', 'uk',
  'ex', 'mg', 'mt', 'lm', 'gt', 'ga', 'gk', 'pl', 'mr'}
for _, k in ipairs(hashes) do
  kinds[k] = 'hash'
end
for t = 0, 3 do kinds['ring:' .. t] = 'list' end
for p = 0, 1 do kinds['dn:' .. p] = 'set' end
local others, freed = {}, 0
for k, kind in pairs(kinds) do
  local found = redis.call('TYPE', base .. ':' .. k).ok
  if found ~= 'none' and found ~= kind then others[#others + 1] = base .. ':' .. k end
end
local wrong = #others
for _, fixed in ipairs(repair and others or {}) do
  if redis.acl_check_cmd('UNLINK', fixed) then freed = freed + redis.call('UNLINK', fixed) end
end
