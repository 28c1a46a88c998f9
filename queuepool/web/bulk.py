"""Acts on many jobs: replay, discard or cancel what matches, at a rate, until somebody stops it.

They run in this process, a page of jobs at a time, so one that is killed has done a part; what it
has done stays done, and doing it again goes on with the rest.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice

from queuepool.client.pool import QueuePool
from queuepool.models import JobState, JobStatus
from queuepool.models.places import DEFAULT_POOL
from queuepool.partitions.partition import Partition
from queuepool.web.desk import RefusedError, sentence_of
from queuepool.web.pages.find import where_of

_PAGE = 200
_AT_ONCE, _KEPT = 4, 50
WORDS = {"replay": "replayed", "discard": "discarded", "cancel": "cancelled"}


@dataclass
class Bulk:
    """One such act. given: its filter as on the page for finding. wanted: jobs at its begin."""

    name: str
    what: str
    given: Mapping[str, str]
    rate: float | None
    wanted: int
    by: str
    began_s: float = field(default_factory=time.time)
    changed: int = 0
    state: str = "running"
    text: str = ""
    stopping: threading.Event = field(default_factory=threading.Event)

    @property
    def share(self) -> float:
        """Return how much of it is done."""
        return 1.0 if self.state == "done" else min(1.0, self.changed / max(self.wanted, 1))


class Bulks:
    """Those that run, and the last ones that ended. Safe to share between threads."""

    def __init__(self) -> None:
        self._known: dict[str, Bulk] = {}
        self._lock = threading.Lock()

    def all(self) -> list[Bulk]:
        """Return them, the latest first."""
        with self._lock:
            return list(self._known.values())[::-1]

    def get(self, name: str) -> Bulk | None:
        """Return one."""
        with self._lock:
            return self._known.get(name)

    def begin(
        self, pool: QueuePool, what: str, given: Mapping[str, str], rate: float | None, by: str
    ) -> Bulk:
        """Begin an act. Raises RefusedError if enough others run."""
        wanted = count(pool, what, given)
        bulk = Bulk(secrets.token_hex(6), what, dict(given), rate, wanted, by)
        with self._lock:
            if sum(one.state == "running" for one in self._known.values()) >= _AT_ONCE:
                raise RefusedError(f"{_AT_ONCE} such acts run already: wait, or stop one")
            self._known[bulk.name] = bulk
            while len(self._known) > _KEPT:
                self._known.pop(next(iter(self._known)))
        name = f"web-bulk-{bulk.name}"
        threading.Thread(target=_run, args=(pool, bulk), name=name, daemon=True).start()
        return bulk

    def stop_all(self) -> None:
        """Let those that run end after their page."""
        for bulk in self.all():
            bulk.stopping.set()


def count(pool: QueuePool, what: str, given: Mapping[str, str]) -> int:
    """Return how many jobs an act would change now. Raises RefusedError."""
    state, where = where_of(given)
    if what in ("replay", "discard"):
        if state != JobState.DEAD:
            raise RefusedError(f"only dead jobs can be {WORDS[what]}")
        act = pool.inspect.replay if what == "replay" else pool.inspect.discard
        return act(dry_run=True, **where).matched
    if what != "cancel" or state not in ("ready", "parked", "delayed"):
        raise RefusedError("only jobs that wait can be cancelled together")
    return pool.inspect.count(state, **where)


def _run(pool: QueuePool, bulk: Bulk) -> None:
    try:
        while not bulk.stopping.is_set():
            began_s = time.monotonic()
            matched, changed = _page(pool, bulk)
            bulk.changed += changed
            if not changed or matched < _size(bulk) or bulk.changed >= bulk.wanted:
                break
            if bulk.rate is not None:
                bulk.stopping.wait(max(0.0, changed / bulk.rate - (time.monotonic() - began_s)))
        bulk.text = f"{bulk.changed:,} jobs were {WORDS[bulk.what]}"
        left = bulk.wanted - bulk.changed
        if left > 0 and not bulk.stopping.is_set():
            bulk.text += f"; {left:,} were not: they ended, or other jobs hold their unique keys"
        bulk.state = "stopped" if bulk.stopping.is_set() else "done"
    except Exception as error:  # whatever it is, the page tells it
        bulk.text = f"{bulk.changed:,} jobs were {WORDS[bulk.what]}, then: {sentence_of(error)}"
        bulk.state = "failed"


def _size(bulk: Bulk) -> int:
    paced = _PAGE if bulk.rate is None else max(1, min(_PAGE, int(bulk.rate)))
    return min(paced, max(bulk.wanted - bulk.changed, 1))


def _page(pool: QueuePool, bulk: Bulk) -> tuple[int, int]:
    """Change a page of jobs; returns how many matched, and how many changed."""
    state, where = where_of(bulk.given)
    if bulk.what == "cancel":
        found = list(islice(pool.inspect.find(state, **where), _size(bulk)))
        waits = (JobState.READY, JobState.PARKED, JobState.DELAYED, JobState.IN_FLIGHT)
        was = [_place(pool, job).cancel(job.job_id) for job in found]
        return len(found), sum(one in waits for one in was)
    act = pool.inspect.replay if bulk.what == "replay" else pool.inspect.discard
    done = act(most=_size(bulk), **where)
    return done.matched, done.changed


def _place(pool: QueuePool, job: JobStatus) -> Partition:
    return pool.partition(job.partition, job.pool or DEFAULT_POOL)
