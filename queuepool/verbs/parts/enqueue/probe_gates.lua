-- uses: probe_gate
ours('LLEN', wk)
local place, at = 0, 7
while at < words do
  for _ = 1, ARGV[at + 3] do
    place = place + 1
    local wish = wishes[place]
    if wish and wish.gate then probe_gate(wish.gate, ARGV[at], ARGV[at + 1]) end
  end
  at = at + 4 + 2 * ARGV[at + 3]
end
