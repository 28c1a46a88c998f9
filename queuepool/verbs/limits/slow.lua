#!lua flags=allow-oom
-- slow: the downstream of a limit said to wait (429): nobody gets a token before that is over.
-- ROLES   consumer ops
-- KEYS[1] base; derived: li:<limit> ls
-- ARGV    limit, ms to wait (at most a day), definition in code ('': none)
-- Returns the us until which all wait. Tokens granted before are not taken back. An adaptive limit
-- also slows down, to 0.7 of its rate, at most once a second, and not while it waits. O(1).
local base, name = KEYS[1], ARGV[1]
-- uses: limits/us, whole, limits/known, limits/names, limits/definition, limits/pace
-- uses: limits/make_way, limits/note, limits/rewind
if ARGV[3] ~= '' and ARGV[3] ~= known.code and definition_of(ARGV[3]) then
  known.code = ARGV[3]
  redis.call('HSET', li, 'code', ARGV[3])
end
local d, cut = definition_of(known.set) or definition_of(known.code), whole(known.cut)
if d and d.most > 0 and wait <= us and (us - cut >= 1000000 or us < cut) then
  redis.call('HSET', li, 'cut', us, 'pace',
    string.format('%.3f', math.max(d.least, pace_of(d) * 0.7)))
end
wait = math.max(wait, us + math.max(0, math.min(whole(ARGV[2]), 86400000)) * 1000)
redis.call('HSET', li, 'until', wait, 'told', us)
return wait
