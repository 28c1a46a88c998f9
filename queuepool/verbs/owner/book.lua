#!lua flags=no-writes
-- book: list the jobs booked in one owner life, to find those whose claim was answered in vain.
-- KEYS[1] base; derived: fl:<epoch>
-- ARGV    epoch
-- Returns ids; the book is bounded by the owner's workers and lookahead. O(book).
return redis.call('ZRANGE', KEYS[1] .. ':fl:' .. ARGV[1], 0, 9999)
