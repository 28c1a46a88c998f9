-- Keys where a value of another type stands, and what a read of it said.
local foreign = {}
