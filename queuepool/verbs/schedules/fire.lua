#!lua
-- fire: enqueue the job of a schedule for one of its times, unless that time or a later one fired.
-- ROLES   coordinator ops
-- KEYS[1] base; derived: sf:<schedule> cmd j dl du dg:<group> c wk cx dead dn:<0|1> g:<group>
--         q:<tier>:<group> ring:<tier> tr:<0-3>:<tenant> tn:<tenant> mt tt:<tenant> u uk ex mg o dr
--         rec fl:<epochs> lm ll gt gr:<tier>:<gate> gg:<group> gq:<tier>:<gate>~<group> mr
-- ARGV    schedule, due ms, leader epoch, 1 (not while its last job has not ended) or 0, ms for
--         which the firing is remembered, id of its last job as the leader knows it ('': none; it
--         may have come here with its slot since); then as for enqueue, for one job
-- Returns {FENCED, newest epoch}: another coordinator leads; {LATER, due ms}: that time fired, or a
--         later one; {BUSY, id}: its last job has not ended; nothing is written then. Else as
--         enqueue: the job is in, or kept out by a unique key, and the time has fired; or {FULL...}
-- No allow-oom flag: an out-of-memory server refuses it before the first line. O(1).
local fires, due = KEYS[1] .. ':sf:' .. ARGV[1], tonumber(ARGV[2])
local command = redis.call('XREVRANGE', KEYS[1] .. ':cmd', '+', '-', 'COUNT', 1)[1]
local newest = command and tonumber(string.match(command[1], '^(%d+)')) or 0
if newest > tonumber(ARGV[3]) then return {'FENCED', newest} end
local before, last = string.match(redis.call('GET', fires) or '', '^(%d+) (.+)$')
if before and tonumber(before) >= due then return {'LATER', tonumber(before)} end
-- Either may be the later one: a slot that came back has another last job than it left behind, and
-- a leader that was replaced may not have noted its last firing
for _, id in ipairs(ARGV[4] == '1' and {last or '', ARGV[6]} or {}) do
  if redis.call('HEXISTS', KEYS[1] .. ':j', id) == 1
    and not redis.call('ZSCORE', KEYS[1] .. ':dead', id) then return {'BUSY', id} end
end
local function accept(ARGV)
  -- uses: enqueue/all
end
local reply = accept({unpack(ARGV, 7)})
if type(reply) == 'table' and reply[1] ~= 'CONFLICT' then return reply end
redis.call('SET', fires, ARGV[2] .. ' ' .. ARGV[17], 'PX', ARGV[5])
return reply
