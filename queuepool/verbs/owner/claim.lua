#!lua flags=allow-oom
-- claim: move up to `limit` ready jobs into the in-flight set of the owner's epoch.
-- ROLES   consumer ops
-- KEYS[1] base; derived: o c j at cr cx mg fl:<epoch> ring:<0-3> q:<tier>:<group> g:<group>
--         dn:<0|1> u uk ex dl wk
-- ARGV    nonce, epoch, limit (1-200), starting (how many of them start at once), promote after ms
--         (0: never), weight of tier 0 .. 3 (all 0: strict order), bytes that the bodies may have
--         together
-- Returns {now ms, ids, bodies, failed attempts, crashes, ids taken from lanes}; attempts and
--         crashes are empty when no job has any; taken counts marks of cancelled jobs as well, and
--         is the limit when the bytes ended the claim, so that less than the limit means that
--         nothing is ready; or {FENCED, current epoch}.
-- A tier's share follows its weight, unused share goes on; lanes of a tier take turns, and two in a
-- row when at most 16 of their jobs are left, so that small groups are through soon. A job
-- is recorded under the start ms (plus order) when it starts now, or waited in a memory that died
-- before; under a small claim sequence when it waits in memory, and when it has a crash.
-- Jobs whose bodies do not fit into the bytes stay, as if fewer had been asked for; one job is
-- taken whatever its size. Sizes are looked at only when as many of the largest body (`largest` of
-- c) would not fit.
-- Nothing is taken while the partition is held. A lane of a held group loses its seat here, and is
-- noted as being out in the group's record (o0-o3).
-- One script: a job in both places runs twice, in neither it is lost. O(limit), whatever waits.
local redis, ARGV, type, base = redis, ARGV, type, KEYS[1] -- locals are faster
local limit, starting = tonumber(ARGV[3]), tonumber(ARGV[4])
local budget = tonumber(ARGV[10])
local o, c, in_flight = base .. ':o', base .. ':c', base .. ':fl:' .. ARGV[2]
-- uses: fence, clock, foreign
local known = redis.call('HMGET', c, 'largest', 'hold')
if known[2] then return {now, {}, {}, {}, {}, 0} end
local odd = redis.call('EXISTS', base .. ':at', base .. ':cr', base .. ':cx', base .. ':mg',
  base .. ':uk', base .. ':ex') > 0
local managed = odd and redis.call('HLEN', base .. ':mg') > 0 -- EXISTS looks at no type
local asks, late = odd and redis.call('EXISTS', base .. ':uk', base .. ':ex') > 0, false
odd = odd and redis.call('HLEN', base .. ':cx') >= 0 -- seldom
  and redis.call('HLEN', base .. ':at') + redis.call('HLEN', base .. ':cr') > 0
-- uses: claim/look, claim/plan
plan(limit)
local largest, full = tonumber(known[1] or nil), false
if not largest or not (planned * largest <= budget) then
  -- uses: claim/plan_fewer
  full = plan_fewer()
end
redis.call('ZCARD', in_flight)
redis.call('HLEN', base .. ':j')
if asks then
  -- uses: claim/late
end
if foreign then
  -- uses: only_wrong_types, make_way
end
-- uses: claim/take, claim/reseat
if count == 0 then return {now, {}, {}, {}, {}, more and limit or 0} end
local bodies = redis.call('HMGET', base .. ':j', unpack(ids))
local bytes = 0
for k = 1, count do bytes = bytes + #(bodies[k] or '') + #ids[k] end
if bytes > budget + 64 * count then
  -- uses: claim/put_back
  put_back()
end
if late then
  -- uses: claim/expire
end
-- uses: claim/record
return {now, alive, texts, kept_attempts, kept_crashes, (full or more) and limit or count}
