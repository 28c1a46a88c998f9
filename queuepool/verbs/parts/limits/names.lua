-- uses: ours
local ls = base .. ':ls'
ours('ZCARD', ls)
