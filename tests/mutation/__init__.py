"""Are the scripts tested? Lines of Lua are dropped, one at a time, and a test must notice.

    python -m tests.mutation [--file NAME] [--record FILE] [--jobs N] [--write] [--operators]

A *mutant* is a Lua file without one line of code. Where no script with it compiles (the head of a
block, the first line of a long call), it is the file without the whole statement that begins on the
line. A file is a verb's or a part's: all scripts that use a part have the change at once. A mutant
is *killed* when a test that calls one of them fails twice in a row, if only by its time.

Each process has servers of its own and collects the tests once. It runs them all on the scripts as
they are, to learn which test calls which scripts, which lines it reaches and how long it takes.
Then each mutant meets the tests that reach its line: first those that killed much in little time,
the walk beside the model among the last. Most die soon. Those that do not, and those that are
listed as survivors, are judged together, one of each file: when a test fails on all of them, it
judges each alone. So two can hide each other, which makes a mutant live that alone would die, never
the reverse.

Mutants are put in where a verb looks its script up, so no file is touched.
"""
