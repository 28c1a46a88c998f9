ahead = {}
for k = 11, #ARGV do ahead[ARGV[k]] = true end
reach = limit + #ARGV - 10
