#!lua flags=allow-oom
-- end_cancelled: end running jobs as cancelled, because that was requested and they stopped.
-- ROLES   consumer ops
-- KEYS[1] base; derived: o dr c j fl:<epoch> at cr er pr cn g:<group> dn:<0|1> mg ring:<0-3>
--         tr:<0-3>:<tenant> tn:<tenant> mt tt:<tenant> u uk ex lm ga dl wk fo
-- ARGV    nonce, epoch, then n * (id, stamp of the body that was claimed ('': whichever))
-- Returns how many were in this in-flight set with that body; or {FENCED, current epoch}. A
-- draining         owner may call it. O(n).
local base, book = KEYS[1], KEYS[1] .. ':fl:' .. ARGV[2]
local c, j = base .. ':c', base .. ':j'
-- uses: fence_or_drain, check_hashes, end_cancelled, is_claimed, group_of, ours, probe_tenant
-- uses: leave
local bodies = {}
check_hashes('c', 'at', 'cr', 'er', 'pr', 'cn')
for i = 3, #ARGV, 2 do
  local body = redis.call('ZSCORE', book, ARGV[i]) and redis.call('HGET', j, ARGV[i])
  if body and is_claimed(body, ARGV[i + 1]) then
    bodies[i] = body
    ours('HLEN', base .. ':g:' .. group_of(body))
    probe_tenant(group_of(body))
  end
end
-- uses: make_way
local n = 0
for i = 3, #ARGV, 2 do
  local id, body = ARGV[i], bodies[i]
  if body and redis.call('ZREM', book, id) == 1 then
    n = n + 1
    redis.call('HDEL', base .. ':pr', id)
    end_cancelled(id, base .. ':g:' .. group_of(body), #body)
    leave(group_of(body), 1)
  end
end
return n
