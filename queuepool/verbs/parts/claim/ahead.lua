if ARGV[11] == 'shortest' then
  shortest, reach = tonumber(ARGV[12]), limit + 32
else
  ahead = {}
  for k = 11, #ARGV do
    if ARGV[k] == '' then levels = levels + 1 else ahead[ARGV[k]] = levels end
  end
  reach = limit + #ARGV - 10
end
