-- Tokens granted within the second that began at `since`, and within the one before
local since, this, previous = whole(known.since), whole(known.n0), whole(known.n1)
local age = now - since
if age >= 1000 or age < 0 then
  local just_before = age >= 1000 and age < 2000
  since, this, previous = just_before and since + 1000 or now, 0, just_before and this or 0
end
