-- For a new name: which of some others are of limits that are forgotten
local forgotten = {}
for _, other in ipairs(not known.at and ours('ZRANDMEMBER', ls, 5) or {}) do
  if ours('HLEN', base .. ':li:' .. other) == 0 then forgotten[#forgotten + 1] = other end
end
