"""A producer of batches: enqueues one after another, each with a job that adds up what it returned.

    python -m tests.chaos.batcher '{"size": 20, "pause_s": 0.2, "until": "enough"}'

Where the jobs go comes from QUEUEPOOL_* variables, the files of events from TEST_RECORDS. A call
that was not answered is repeated with its batch_id until it is, or the batch has concluded; only
then there is a line in the file `batches`.
"""

import json
import sys
import threading
from itertools import count

from queuepool import After, InvalidInputError, Job, QueuePool
from queuepool.errors import UnavailableError
from tests.apps.recorded import DIRECTORY, note

_KEYS = 7  # of the jobs of a batch: they are in several partitions


def main() -> int:
    """Enqueue batches until there is such a file; returns 0."""
    options = json.loads(sys.argv[1])
    pause, until = threading.Event(), DIRECTORY / options["until"]
    with QueuePool.from_env() as pool, (DIRECTORY / "batches").open("a") as known:
        for number in count():
            if until.exists():
                return 0
            while not _enqueued(pool, f"batch-{number}", options["size"]):
                pause.wait(0.05)
            known.write(f"batch-{number}\n")
            known.flush()
            pause.wait(options["pause_s"])
    raise AssertionError("there are always more numbers")


def _enqueued(pool: QueuePool, name: str, size: int) -> bool:
    jobs = [Job({"n": n}, partition_key=f"{name}-{n % _KEYS}") for n in range(size)]
    then = After("chaos_sum", {"of": name}, partition_key=name, batch_id=name)
    try:
        made = pool.enqueue_many("chaos_part", jobs, then=then)
    except UnavailableError:
        return False
    except InvalidInputError as error:  # it has concluded, so that all of it was there
        if "concluded" not in str(error):
            raise
        return True
    for one in made:
        note("accept", one.job_id, 0)
    return True


if __name__ == "__main__":
    sys.exit(main())
