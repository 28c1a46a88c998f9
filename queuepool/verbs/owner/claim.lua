#!lua flags=allow-oom
-- claim: move up to `limit` ready jobs into the in-flight set of the owner's epoch.
-- ROLES   consumer ops
-- KEYS[1] base; derived: o c j at cr er pr cx mg fl:<epoch> ring:<0-3> tr:<0-3>:<tenant>
--         tn:<tenant> tt:<tenant> mt q:<tier>:<group> g:<group> dn:<0|1> u uk ex lm ll gt ga gk
--         gr:<tier>:<gate> gq:<tier>:<gate>~<group> gg:<group> dl du dg:<group> ua ht wk fo
-- ARGV    nonce, epoch, limit (1-200), starting (how many of them start at once), promote after ms
--         (0: never), weight of tier 0 .. 3 (all 0: strict order), bytes that the bodies may have
--         together, then lanes (tier, group) whose turn comes after all others of their tier, as
--         they had more than their share of time; the turn of those that follow an empty name comes
--         after these; or: shortest, ms: the lanes with the fewest jobs come first, after those
--         whose last turn is so long ago, and a turn takes all it can
-- Returns {now ms, ids, bodies, failed attempts, crashes, ids taken from lanes, id and gate of jobs
--         that name limits ..., whether rouse is to begin (0), or to end (1), as held tasks were
--         released}, without the last ones if they have nothing to say; attempts and crashes are
--         empty if no job has any; taken also counts marks of cancelled jobs and jobs set aside,
--         and is the limit if the bytes ended the claim, so that less than the limit means that
--         nothing is ready; or {FENCED, current epoch}.
-- A tier's share follows its weight, and unused shares pass on; lanes of a tier take turns, and two
-- in a row if at most 16 of their jobs are left, so that small groups finish soon. A job is
-- recorded with its start ms (plus order) if it starts now, or waited in a memory that died before;
-- with a small claim sequence if it waits in memory, or has a crash.
-- Jobs whose bodies exceed the bytes stay, as if fewer had been requested; a single job is taken
-- whatever its size. Sizes are checked only if as many bodies of the largest size (`largest` in c)
-- would not fit.
-- Nothing is taken while the partition is held. A lane of a held group loses its seat here, and is
-- recorded as out in the group's record (o0-o3). Jobs of held tasks are delayed until the release.
-- One script: a job in both places runs twice, in neither it is lost. O(limit), whatever waits.
local redis, ARGV, type, base = redis, ARGV, type, KEYS[1] -- locals are faster
local limit, starting = ARGV[3] + 0, ARGV[4] + 0 -- tonumber would parse each twice
local budget = ARGV[10] + 0
local ahead, levels, reach = nil, 1, limit -- reach: seats that it may look at in a ring
local allowed -- lanes above this level wait
local shortest -- ms
if ARGV[11] then
  -- uses: claim/ahead
end
local o, c, in_flight = base .. ':o', base .. ':c', base .. ':fl:' .. ARGV[2]
-- uses: fence, clock, foreign
local known = redis.call('HMGET', c, 'largest', 'hold', 'rare', 'tried')
if known[2] then return {now, {}, {}, {}, {}, 0} end
local traces = known[4]
  and redis.call('EXISTS', base .. ':at', base .. ':cr', base .. ':er', base .. ':pr') > 0
local tried = traces and redis.call('HLEN', base .. ':at') + redis.call('HLEN', base .. ':cr') > 0
local managed, bounded, asks, late, limited, marked = false, false, false, false, false, false
local tasks, held, roused -- whether any are on record; those held, and how their bodies begin
if known[3] then
  managed, bounded = redis.call('HLEN', base .. ':mg') > 0, redis.call('HLEN', base .. ':mt') > 0
  asks = redis.call('EXISTS', base .. ':uk', base .. ':ex', base .. ':ll') > 0
  marked = redis.call('HLEN', base .. ':cx') > 0
  -- uses: claim/held_tasks
end
-- uses: claim/look
-- By ring: jobs at most, and seats that had a turn; jobs in all
local quota, visited, planned = {}, {}, 0
-- uses: claim/alone
if planned == 0 then
  -- uses: claim/plan
  plan(limit)
end
-- By tier: the lanes in the order of their turns, and how many these are
local lanes, served = seats, visited
if seats.tenants then
  -- uses: claim/line_up
end
local largest, full = tonumber(known[1] or nil), false
if not largest or not (planned * largest <= budget) then
  -- uses: claim/plan, claim/plan_fewer
  full = plan_fewer()
end
redis.call('ZCARD', in_flight)
redis.call('HLEN', base .. ':j')
if asks then
  -- uses: claim/late
end
if held then
  -- uses: claim/probe_delays
end
if foreign then
  -- uses: make_way
end
if known[3] and not managed and not bounded and not asks and not tasks and not marked
  and redis.call('EXISTS', base .. ':lm') == 0 then redis.call('HDEL', c, 'rare') end
if known[4] and not traces then redis.call('HDEL', c, 'tried') end
-- uses: claim/take, claim/reseat
if count == 0 then return {now, {}, {}, {}, {}, more and limit or 0, roused and {}, roused} end
local bodies = redis.call('HMGET', base .. ':j', unpack(ids))
local bytes = 0
for k = 1, count do bytes = bytes + #(bodies[k] or '') + #ids[k] end
if bytes > budget + 64 * count then
  -- uses: claim/put_back
  put_back()
end
if seats.tenants then
  -- uses: claim/count_tenants
end
local limits -- id, gate ... of those that name limits
if late then
  -- uses: claim/expire
end
if held then
  -- uses: claim/set_aside
end
if limited then
  -- uses: claim/limited
end
-- uses: claim/record
local taken_in_all = (full or more) and limit or count
return {now, alive, texts, kept_attempts, kept_crashes, taken_in_all, limits or roused and {},
  roused}
