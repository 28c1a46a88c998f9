'''Process chaos: real processes, one fault at a time, and a checker that joins what they noted.

    python -m tests.chaos [--only F1,F7] [--runs N] [--write]      all faults: `make chaos`
    pytest tests/chaos                                             one small run of each

    app.py, producer.py  what the processes run; each appends its events to a file of its own
    events.py            reads those files
    checker.py           pure: events + final books + strikes -> Verdict
    proxy.py             a network that can be made bad
    rig.py               a server and the processes around it
    registry.py          Fault, Trial, Result, Row, and the table

To add a fault, add one file `f<number>_<name>.py` (or `x_<name>.py`) with a list FAULTS:

    """F1: a consumer is killed at random."""

    def _run(trial: Trial) -> Result:
        with Rig(trial.directory, binary=engine(trial.number)) as rig:
            first, _second = rig.consumer(), rig.consumer()    # the second one stands by
            producer = rig.producer(jobs=400, ms=10, batch=20, pause_s=0.02)
            rig.until(lambda: rig.count("done") > 100, "some jobs done")
            rig.strike(rig.owner(), signal.SIGKILL)            # noted for the checker
            producer.ends()
            rig.drained(400)
            return Result(verdict=rig.verdict())

    FAULTS = [Fault(number="F1", name="consumer SIGKILL", expected="0 lost; ...", procedure=_run)]

Nothing else is needed: the registry finds the file, `make chaos` runs it `runs` times, `make test`
runs it once with `trial.quick` (small; give `quick=False` when it cannot be), and it has its line
in the table. Rules for a procedure:

- Take all randomness from `trial.random`, every file below `trial.directory`.
- What is expected must be checked: by the checker (give it strikes, `lost_allowed`,
  `more_starts`), or by `verdict.also([sentence, ...])` for what the fault itself has seen. An
  assertion that fails is a violation as well.
- Show that the fault struck: a count in `Result(sums={"fenced": ...})`, and a violation when it is
  0. `sums` are added over the runs, of `peaks` the largest counts; both become the note.
- Add `trial.late_s` to a bound of time, and give owners that are killed `trial.lease_s`: `make
  test` keeps the machine busy.
- Wait for events (`rig.until`), and for time only where time is the fault (`pause` in rig.py).
'''
