#!lua flags=allow-oom
-- drop_batch: delete a frozen batch that another partition has adopted.
-- ROLES   ops
-- KEYS[1] base; derived: c bd b:<batch> bb:<batch> bf:<batch> br:<batch>:<page>
-- ARGV    version of the route, batch
-- Returns 1 if nothing is left of it, 0: call again; or {MOVED, least version}: that of the route
--         is another one. O(200 pages of results).
local base, batch = KEYS[1], ARGV[2]
-- uses: moves/current
local bd = base .. ':bd'
-- uses: ours, flows/forget_batch
redis.call('ZCARD', bd)
local f = ours('HMGET', base .. ':b:' .. batch, 'top', 'swept') or {}
ours('STRLEN', base .. ':bb:' .. batch)
ours('HLEN', base .. ':bf:' .. batch)
local first, pages = whole(f[2]), math.ceil(whole(f[1]) / 128)
for page = first, math.min(pages, first + 200) - 1 do
  ours('HLEN', base .. ':br:' .. batch .. ':' .. string.format('%.0f', page))
end
-- uses: make_way
return forget_batch({name = batch, more = {[5] = f[1], [6] = f[2]}}, 200) and 1 or 0
