#!lua flags=no-writes
-- errors: count the errors of dead or retrying jobs, in a bounded part of them.
-- ROLES   coordinator ops-read ops
-- KEYS[1] base; derived: j dl dead er
-- ARGV    kind (dead or delayed), rank to begin with (a multiple of the step), step (of so many
--         jobs one, >= 1), jobs to look at (1-300)
-- Returns {rank to go on with (-1 at the end), jobs of this kind, [how its envelope begins, error
--         without traceback, how many, first ms, last ms, id of the last] ...}: one row for each
--         task and error, and each has a place of its own in the time of death, or when it is due.
--         O(looked at * log n).
local base, kind, rank, step = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local set = base .. (kind == 'dead' and ':dead' or ':dl')
local all, rows, known, size = redis.call('ZCARD', set), {}, {}, 0
-- uses: group_of, find/brief
local function note(id, at)
  local er = redis.call('HGET', base .. ':er', id)
  if not er and kind ~= 'dead' then return end -- delayed, but it never failed
  local body = redis.call('HGET', base .. ':j', id) or ''
  size = size + #body
  local from = 19 + #group_of(body)
  local begins = string.match(string.sub(body, from, from + 400), '^%[".-",') or ''
  er = brief(er or '')
  local key = begins .. er
  local row = known[key]
  if not row then
    row = {begins, er, 0, at}
    known[key], rows[#rows + 1] = row, row
  end
  row[3], row[5], row[6] = row[3] + 1, at, id -- they come in the order of time
end
local looked, most = 0, tonumber(ARGV[4])
while looked < most and rank < all and size < 4194304 do
  local n = step == 1 and math.min(50, most - looked) or 1
  -- Of each `step` jobs one at another place, so that no pattern among the jobs matters
  local at = rank + rank / step * 104729 % step
  local page = redis.call('ZRANGE', set, at, at + n - 1, 'WITHSCORES')
  for i = 1, #page, 2 do
    note(page[i], math.floor(tonumber(page[i + 1]) or 0))
    rank, looked = rank + step, looked + 1
  end
  if #page == 0 then rank = rank + step end -- beyond the last one
end
return {rank < all and rank or -1, all, unpack(rows)}
