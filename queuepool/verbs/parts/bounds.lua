-- The bounds of the protocol, whatever client sends: of a run, of the jobs, of a group, of an id, of a body.
local delay, n = tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3])
if tier ~= '2' and not string.find(tier, '^[0-3]$') or not group or not delay or not (delay >= 0 and delay < 9e15)
  or not n or not (n >= 1 and n % 1 == 0) or i + 3 + 2 * n > words then return {'REFUSED', 'run', 0, 0} end
sent = sent + n
if sent > 2000 then return {'REFUSED', 'jobs', sent, 2000} end -- calls below take some thousand words at most
if #group < 1 or #group > 64 then return {'REFUSED', 'group', #group, 64} end
for k = i + 4, i + 2 + 2 * n, 2 do
  if #ARGV[k] > 64 then return {'REFUSED', 'id', #ARGV[k], 64} end
  if #ARGV[k + 1] > 16777285 then return {'REFUSED', 'body', #ARGV[k + 1], 16777285} end -- 16 MiB behind its header
end
