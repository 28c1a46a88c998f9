#!lua flags=allow-oom
-- end_permits: permits of ownerships that ended, of one place, are free.
-- ROLES   consumer ops
-- KEYS[1] base; derived: li:<limit> lc:<limit> ls lp:<place>
-- ARGV    place, its oldest epoch whose jobs may run, cursor ('0' to begin, then as returned)
-- Returns {next cursor ('0' when done), permits freed}. For a successor, once it has recovered the
-- jobs of earlier epochs; these get no more tokens or permits here. About 200 limits a call.
local base, lp = KEYS[1], KEYS[1] .. ':lp:' .. ARGV[1]
-- uses: whole, ours
local newest = math.max(whole(ours('HGET', lp, '')), whole(ARGV[2]))
local limits, freed, ended = ours('ZCARD', base .. ':ls') or 0, 0, {}
local page = ours('HSCAN', lp, ARGV[3], 'COUNT', 200) or {'0', {}}
for k = 1, #page[2], 2 do
  local name, epoch = string.match(page[2][k], '^(.*):(%d+)$')
  if name and whole(epoch) < whole(ARGV[2]) then
    local asker = ARGV[1] .. ':' .. epoch
    local entry = ours('HGET', base .. ':lc:' .. name, asker)
    ours('HLEN', base .. ':li:' .. name)
    ended[#ended + 1] = {name = name, asker = asker, field = page[2][k],
      permits = whole(string.match(entry or '', '^(%d+):'))}
  end
end
-- uses: limits/make_way
for _, one in ipairs(ended) do
  redis.call('HDEL', lp, one.field)
  if redis.call('HDEL', base .. ':lc:' .. one.name, one.asker) == 1 then
    freed = freed + one.permits
    -- Asks count anew
    redis.call('HDEL', base .. ':li:' .. one.name, 'summed')
  end
end
if limits > 0 or redis.call('HLEN', lp) > 0 then
  redis.call('HSET', lp, '', newest)
  if redis.call('HLEN', lp) <= 1 then redis.call('PEXPIRE', lp, 86400000) end
end
return {page[1], freed}
