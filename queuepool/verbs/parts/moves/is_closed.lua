-- uses: ours
-- Whether a group is being copied, so that its jobs are to stay as they are: the leader may copy
-- them again. Only operators write `mv`, so nobody else can make it seem so.
local any_moves = redis.call('SCARD', base .. ':mv') > 0
local function is_closed(group)
  return any_moves and redis.call('SISMEMBER', base .. ':mv', group) == 1
    and ours('HEXISTS', base .. ':g:' .. group, 'closed') == 1
end
