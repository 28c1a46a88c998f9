#!lua flags=allow-oom
-- promote: move at most 100 delayed jobs that are due to their lanes, tier 0 and then 1 first.
-- ROLES   consumer ops
-- KEYS[1] base; derived: o c j dl du dg:<group> ua wk at cr er cn dn:<0|1> g:<group>
--         q:<tier>:<group> ring:<0-3> tr:<0-3>:<tenant> tn:<tenant> mt tt:<tenant> mg mv u uk ex lm
--         ll ga fo
-- ARGV    nonce, epoch
-- Returns {promoted, cancelled, ms until the next is due (0: more are due now, -1: none waits)};
--         or {FENCED, current epoch}. Jobs of a group cancelled since are dropped here; those of a
--         group that is being copied stay, and others pass them. O(100 log delayed).
local base, c, j, dl = KEYS[1], KEYS[1] .. ':c', KEYS[1] .. ':j', KEYS[1] .. ':dl'
-- uses: fence, clock, check_hashes, end_cancelled, push, wake, group_of, tier_of, stamp_of, unaside
-- uses: undelay, raise_largest, add, whole, ours, count_ready, push_front, tune
-- uses: probe_tenant, urgency
local du = base .. ':du'
local ids = redis.call('ZRANGEBYSCORE', dl, '-inf', now, 'LIMIT', 0, 100)
local urgent = redis.call('ZRANGEBYSCORE', du, '-inf', urgency('0', now), 'LIMIT', 0, 100)
for _, id in ipairs(redis.call('ZRANGEBYSCORE', du, 0, now, 'LIMIT', 0, 100 - #urgent)) do
  urgent[#urgent + 1] = id
end
local passed = 0
if #ids > 0 and redis.call('SCARD', base .. ':mv') > 0 then
  -- uses: promote/pass_closed
end
if #ids == 100 or passed >= 1000 then
  -- uses: promote/urgent_first
end
local bodies = #ids > 0 and redis.call('HMGET', j, unpack(ids)) or {}
if #ids > 0 then
  check_hashes('at', 'cr', 'er', 'cn', 'ua')
end
local aside = #ids > 0 and redis.call('HLEN', base .. ':ua') > 0 -- rare
local groups, tiers, lanes, ended, most = {}, {}, {}, {}, 0
local group, name, named = nil, '', nil -- named: how the body has the name
local largest = #ids > 0 and redis.call('HGET', c, 'largest')
for k, id in ipairs(ids) do
  local body = bodies[k]
  if body then
    -- Jobs that are due together are mostly of one group: that of the job before
    if string.sub(body, 17, 18 + #name) ~= named then
      name = group_of(body)
      named, group = string.sub(body, 17, 18 + #name), groups[name]
    end
    local tier = tier_of(body)
    if not group then
      ours('SCARD', base .. ':dg:' .. name)
      probe_tenant(name)
      local cut = ours('HGET', base .. ':g:' .. name, 'cancelled_at')
      group = {ids = {}, lane = {}, cut = cut and whole(cut) or -1}
      group.next = managed and ours('HGET', base .. ':g:' .. name, 'rt')
      groups[name] = group
    end
    group.ids[#group.ids + 1] = id
    if group.cut >= 0 and stamp_of(body) <= group.cut then
      ended[#ended + 1] = {id = id, g = base .. ':g:' .. name, size = #body}
    else
      most = math.max(most, #body)
      local lane = group.lane[tier]
      if not lane then
        lane = {tier = tier, group = name, ids = {}}
        ours('LLEN', lane_key(lane))
        if not tiers[tier] then redis.call('LLEN', base .. ':ring:' .. tier) end
        tiers[tier] = tiers[tier] or 0 -- jobs promoted in it
        group.lane[tier], lanes[#lanes + 1] = lane, lane
      end
      if id == group.next then lane.next = id else lane.ids[#lane.ids + 1] = id end
    end
  end
end
-- uses: make_way
if #ids > 0 then redis.call('ZREM', dl, unpack(ids)) end -- including those without a body
if #urgent > 0 then redis.call('ZREM', du, unpack(urgent)) end
for _, id in ipairs(aside and ids or {}) do unaside(id) end
for name, group in pairs(groups) do undelay(name, group.ids) end
for _, job in ipairs(ended) do end_cancelled(job.id, job.g, job.size) end
local promoted = 0
for _, lane in ipairs(lanes) do
  local n = #lane.ids + (lane.next and 1 or 0)
  promoted = promoted + n
  if #lane.ids > 0 then push(lane, lane.ids) end
  if lane.next then push_front(lane, lane.next) end -- it is the turn of a serial group's retry
  if managed then
    count_ready(lane.tier, lane.group, n)
    tune(lane.group)
  else
    if tenant_of(lane.group) then
      count_able(lane.tier, lane.group, n)
    else
      tiers[lane.tier] = tiers[lane.tier] + n
    end
  end
end
for tier, n in pairs(tiers) do add(c, 'r' .. tier, n) end
if promoted > 0 then raise_largest(largest, most); wake('w') end
local following = redis.call('ZRANGE', dl, passed, passed, 'WITHSCORES')
local pause = passed >= 1000 and 20 or 0
local ahead = following[2] and math.ceil(following[2] - now) -- 0 only if it is due
local next_due = ahead and math.max(pause, math.min(ahead, 9e15)) or -1
return {promoted, #ended, next_due}
