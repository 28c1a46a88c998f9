"""F4: producers are killed during a batch, and then many enqueue the same ids at once.

Some of those ids wait, some run and some are done by then. Each job must be there once.
"""

from tests.chaos.registry import Fault, Result, Trial
from tests.chaos.rig import Rig, engine

_PARTITIONS = 2
_BATCH = 2000  # ten calls of the script
_MOST_KILLS = 12


def _run(trial: Trial) -> Result:
    kills, storm = (1, 3) if trial.quick else (4, 6)
    jobs = 2 * _BATCH
    random = trial.random
    untold = 0
    with Rig(trial.directory, partitions=_PARTITIONS, binary=engine(trial.number)) as rig:
        for _ in range(_PARTITIONS):
            rig.consumer(lease_s=60)  # nobody succeeds them
        made = 0
        # A kill may come when all was answered for: then it did not strike, and there is another.
        while made < kills or (not untold and made < _MOST_KILLS):
            n, made = made, made + 1
            before, known = rig.count("enqueued"), len(rig.events().accepted)
            least = before + random.randrange(1, _BATCH // 2)
            victim = rig.producer(prefix=f"p{n}", jobs=jobs, batch=_BATCH)
            rig.until(lambda least=least: rig.count("enqueued") >= least, f"{least} enqueued")  # type: ignore[misc]
            victim.kill()
            stored, told = rig.count("enqueued") - before, len(rig.events().accepted) - known
            untold += stored - told  # it was killed between the two
            together = [rig.producer(prefix=f"p{n}", jobs=jobs, batch=_BATCH) for _ in range(storm)]
            if n % 2:
                together.pop(0).kill()
            for producer in together:
                producer.ends()
        rig.drained(made * jobs)
        enqueued, duplicates = rig.count("enqueued"), rig.count("duplicate")
        verdict = rig.verdict()
        said = []
        if enqueued != made * jobs or verdict.jobs != made * jobs:
            said.append(f"{enqueued} stored and {verdict.jobs} accepted of {made * jobs} ids")
        if duplicates < (storm - 2) * made * jobs:
            said.append(f"only {duplicates} were refused as duplicates: there was no storm")
        if not untold:
            said.append("every kill came when all was answered for: none struck")
        return Result(
            verdict=verdict.also(said),
            sums={"kills": made, "stored without a reply": untold, "repeats refused": duplicates},
        )


FAULTS = [
    Fault(
        number="F4",
        name="producer SIGKILL during a batch, then a storm of the same ids",
        expected="accepted jobs are stored once; repeats add 0",
        procedure=_run,
        runs=5,
    )
]
