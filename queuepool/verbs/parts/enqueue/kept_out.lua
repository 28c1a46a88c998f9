-- Jobs that were there before, or kept out by others, which some replaced.
-- uses: add
local others = by and #by or 0
if answered - added > others then add(c, 'duplicate', answered - added - others) end
if others > replaced then add(c, 'conflicts', others - replaced) end
if replaced > 0 then add(c, 'replaced', replaced) end
