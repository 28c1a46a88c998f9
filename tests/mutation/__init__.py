"""Are the scripts tested? Lines of Lua are dropped, one at a time, and a test must notice.

    python -m tests.mutation [--script NAME] [--jobs N] [--write] [--operators]

A *mutant* is a script without one line of code. Where that alone does not compile (the head of a
block, the first line of a long call), it is the script without the whole statement that begins on
the line. A mutant is *killed* when a test fails on it twice in a row, if only by its time.

Each process has servers of its own and collects the tests once. It runs them all on the scripts as
they are, to learn which test calls which scripts and how long it takes. Then each mutant meets the
tests that call its script: first those that killed much in little time, the walk beside the model
among the last. Mutants are put in where a verb looks its script up, so no file is touched.
"""
