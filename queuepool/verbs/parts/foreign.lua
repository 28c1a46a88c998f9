-- Keys with a value of another type, and what a read of each said; nil while there are none.
local foreign
