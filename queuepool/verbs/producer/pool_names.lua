#!lua flags=no-writes
-- pool_names: which pools a partition has besides the default one.
-- ROLES   producer consumer coordinator ops-read ops
-- KEYS[1] base of the default pool; derived: pl
-- ARGV    none
-- Returns the names. O(pools).
return redis.call('HKEYS', KEYS[1] .. ':pl')
