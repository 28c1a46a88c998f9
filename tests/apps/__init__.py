"""Modules with tasks, for the processes of tests; not for the tests' own, where they would meet."""

SECRETS = "TEST_SECRETS"  # prefix of the variables that hold what handlers return and raise
