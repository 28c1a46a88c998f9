-- uses: whole
-- The partition accepts exactly the version of this step of the move: a call of one that is over,
-- or of a leader that was replaced meanwhile, changes nothing.
local version = math.max(1, whole(redis.call('HGET', base .. ':c', 'route')))
if version ~= whole(ARGV[1]) then return {'MOVED', string.format('%.0f', version)} end
