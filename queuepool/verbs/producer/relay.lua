#!lua
-- relay: enqueue a delivery of an outbox, unless it was enqueued before.
-- ROLES   producer ops
-- KEYS[1] base; derived: ob:<outbox> j dl du dg:<group> c wk cx dead dn:<0|1> g:<group>
--         q:<tier>:<group> ring:<tier> tr:<0-3>:<tenant> tn:<tenant> mt tt:<tenant> u uk ex mg o dr
--         rec fl:<epochs> lm ll gt gr:<tier>:<gate> gg:<group> gq:<tier>:<gate>~<group> mr
-- ARGV    outbox, number of the delivery, ms for which it is remembered; then as for enqueue
-- Returns {KNOWN, newest number}: that delivery was enqueued, or a later one; nothing is written
--         then. Else as enqueue: the delivery is in; or {FULL...}
-- No allow-oom flag: an out-of-memory server refuses it before the first line. O(jobs).
local mark = KEYS[1] .. ':ob:' .. ARGV[1]
local newest = tonumber(redis.call('GET', mark) or '')
if newest and newest >= tonumber(ARGV[2]) and newest < 9e15 then return {'KNOWN', newest} end
local function accept(ARGV)
  -- uses: enqueue/all
end
local reply = accept({unpack(ARGV, 4)})
if type(reply) == 'table' and reply[1] ~= 'CONFLICT' then return reply end
redis.call('SET', mark, ARGV[2], 'PX', ARGV[3])
return reply
