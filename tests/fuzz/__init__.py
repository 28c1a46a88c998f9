"""Fuzzing: bytes from anywhere end in a value or in an error of ours, never in anything else.

    targets.py    what is fuzzed: one function a target, which raises only when there is a defect
    supply.py     how a target takes numbers, texts and records from the bytes it is given
    corpus.py     the inputs that are kept, one a line in corpus/TARGET.txt
    __main__.py   `make fuzz MINUTES=60`: all targets in turn under atheris, guided by coverage
    run.py        one target under atheris, in a process of its own
    test_corpus.py   replays what is kept, without atheris, in `make test`

What a run finds new is kept in .fuzz/ for the next one. A failure leaves its input there and is
printed with the command that keeps it permanently:

    python -m tests.fuzz --keep TARGET FILE      a failing input, once the defect is fixed
    python -m tests.fuzz --minimise              what .fuzz/ has, as few inputs as reach the same
"""
