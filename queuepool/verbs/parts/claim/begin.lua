-- uses: note_start
local begins = {}
for k = 1, n do if scores[k] >= 0 then begins[#begins + 1] = alive[k] end end
if special and #begins > 0 then note_start(begins) end
