#!lua flags=no-writes
-- who_leads: which coordinator leads, and what is set manually.
-- ROLES   coordinator ops-read ops
-- KEYS[1] system base; derived: leader manual
-- ARGV    none
-- Returns what `lead` returns to one that does not lead. O(manual).
-- uses: leadership
return led
