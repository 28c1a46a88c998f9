-- Keys with a value of the wrong type, and the reply to reading each; nil if there are none.
local foreign
