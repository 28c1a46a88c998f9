if ARGV[11] == 'shortest' then
  shortest, reach = tonumber(ARGV[12]), limit + 32
else
  ahead = {}
  for k = 11, #ARGV do ahead[ARGV[k]] = true end
  reach = limit + #ARGV - 10
end
