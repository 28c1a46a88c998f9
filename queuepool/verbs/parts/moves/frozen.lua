-- The owner is never to look at a batch that is on its way, and so does not conclude it
local FROZEN = '9000000000000000'
