"""Acts on many jobs: replay, discard or cancel what matches, at a rate, until somebody stops it.

They run in this process, a page of jobs at a time, so one that is killed has done a part; what it
has done stays done, and doing it again goes on with the rest.

One walk goes through all jobs that match, past those that do not change (others hold their unique
keys, or they ended meanwhile). Jobs that are cancelled leave their lanes, so that others move up,
behind the walk: it is repeated as long as it finds something to cancel.

running -> done, incomplete, stopped or failed, once and in its own thread, which then writes the
end into the log of the queue: how many changed, in what time, and whether that was all. Its begin
is written by the page; the end waits for that, for a bounded time, so that the log has them in
order. An act without an end in the log still runs, or was cut off with the process of its page.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from urllib.parse import urlencode

from queuepool.client import log
from queuepool.client.pool import QueuePool
from queuepool.models import JobState, JobStatus
from queuepool.models.durations import format_duration
from queuepool.models.log import LogEntry, LogKind
from queuepool.models.places import DEFAULT_POOL
from queuepool.partitions.partition import Partition
from queuepool.web.desk import RefusedError, sentence_of
from queuepool.web.pages.find import where_of

_PAGE = 200
_AT_ONCE, _KEPT = 4, 50
_BEGIN_S = 5.0  # for its begin to be in the log
_END_S = 5.0  # for those that run, at the end of the page
_log = logging.getLogger("queuepool.web")
WORDS = {"replay": "replayed", "discard": "discarded", "cancel": "cancelled"}


@dataclass
class Bulk:
    """One such act. given: its filter as on the page for finding. wanted: jobs at its begin.

    why: the reason given. took_s: how long it ran, once it has ended. stopped_by: who stopped it;
    empty: nobody, or the end of the page. problem: why it failed.
    """

    name: str
    what: str
    given: Mapping[str, str]
    rate: float | None
    wanted: int
    by: str
    why: str = ""
    began_s: float = field(default_factory=time.time)
    changed: int = 0
    state: str = "running"
    text: str = ""
    took_s: float = 0.0
    stopped_by: str = ""
    problem: str = ""
    stopping: threading.Event = field(default_factory=threading.Event)
    begin_logged: threading.Event = field(default_factory=threading.Event)

    @property
    def subject(self) -> str:
        """Return on what it acts, as the log says it."""
        return urlencode(self.given)

    def stop(self, by: str) -> None:
        """Let it end after the page of jobs that it is at."""
        self.stopped_by = by
        self.stopping.set()

    @property
    def share(self) -> float:
        """Return how much of it is done."""
        return 1.0 if self.state == "done" else min(1.0, self.changed / max(self.wanted, 1))

    @property
    def left(self) -> int:
        """Return how many jobs it was to change and did not, so far."""
        return max(0, self.wanted - self.changed)


class Bulks:
    """Those that run, and the last ones that ended. Safe to share between threads."""

    def __init__(self) -> None:
        self._known: dict[str, Bulk] = {}
        self._threads: dict[str, threading.Thread] = {}
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
        self,
        pool: QueuePool,
        what: str,
        given: Mapping[str, str],
        rate: float | None,
        by: str,
        why: str = "",
    ) -> Bulk:
        """Begin an act. Raises RefusedError if enough others run.

        Whoever begins it sets `begin_logged` when that is in the log, or could not be written.
        """
        wanted = count(pool, what, given)
        bulk = Bulk(secrets.token_hex(6), what, dict(given), rate, wanted, by, why)
        with self._lock:
            if sum(one.state == "running" for one in self._known.values()) >= _AT_ONCE:
                raise RefusedError(
                    f"{_AT_ONCE} bulk actions are already running: wait, or stop one"
                )
            self._known[bulk.name] = bulk
            ended = [name for name, one in self._known.items() if one.state != "running"]
            for name in ended[: max(len(self._known) - _KEPT, 0)]:
                del self._known[name]
            name = f"web-bulk-{bulk.name}"
            thread = threading.Thread(target=_live, args=(pool, bulk), name=name, daemon=True)
            self._threads = {n: t for n, t in self._threads.items() if t.is_alive()}
            self._threads[bulk.name] = thread
            thread.start()
        return bulk

    def stop_all(self) -> None:
        """End those that run, after their page, and let them write that into the log."""
        until_s = time.monotonic() + _END_S
        with self._lock:
            bulks, threads = list(self._known.values()), list(self._threads.values())
        for bulk in bulks:
            bulk.stopping.set()
            bulk.begin_logged.set()
        for thread in threads:
            thread.join(max(0.0, until_s - time.monotonic()))


def said_of(what: str) -> str:
    """Return what an act does, as the log says it."""
    return f"{'job' if what == 'cancel' else 'dead'} {what}"


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


def end_of(bulk: Bulk) -> LogEntry:
    """Return the log entry that ends a bulk action. Pure."""
    outcome = f"{bulk.changed:,} of {bulk.wanted:,} {WORDS[bulk.what]} in "
    outcome += format_duration(bulk.took_s)
    if bulk.state == "failed":
        outcome += f", aborted: {bulk.problem}"
    elif bulk.state == "stopped":
        outcome += f", aborted by {bulk.stopped_by or 'the end of the page'}"
    else:
        unchanged = f", incomplete: {bulk.left:,} unchanged"
        outcome += unchanged if bulk.state == "incomplete" else ", complete"
    return LogEntry(
        kind=LogKind.ACT,
        what=f"{said_of(bulk.what)} ended",
        subject=bulk.subject,
        who=bulk.by,
        via="page",
        why=bulk.why,
        outcome=f"{outcome} (act {bulk.name})",
    )


def _live(pool: QueuePool, bulk: Bulk) -> None:
    """Do an act, and write its end into the log."""
    _run(pool, bulk)
    bulk.begin_logged.wait(_BEGIN_S)
    try:
        pool.carry_out(log.write([end_of(bulk)]))
    except Exception as error:  # whatever it is: the act itself is done
        _log.warning("the end of action %s could not be written to the log: %s", bulk.name, error)


def _run(pool: QueuePool, bulk: Bulk) -> None:
    begun_s = time.monotonic()
    try:
        for changed in _changes(pool, bulk):
            bulk.changed += changed
            if bulk.changed >= bulk.wanted or bulk.stopping.is_set():
                break
            if bulk.rate is not None and bulk.stopping.wait(changed / bulk.rate):
                break
        _conclude(bulk, "", time.monotonic() - begun_s)
    except Exception as error:  # whatever it is, the page tells it
        _conclude(bulk, sentence_of(error), time.monotonic() - begun_s)


def _conclude(bulk: Bulk, problem: str, took_s: float) -> None:
    """Set what is said of an act that ended; its state comes last, since others look at it."""
    stopped = bulk.stopping.is_set() and bulk.left > 0 and not problem
    bulk.took_s, bulk.problem = took_s, problem
    bulk.text = f"{bulk.changed:,} jobs were {WORDS[bulk.what]} in {format_duration(took_s)}"
    if problem:
        bulk.text += f", then: {problem}"
    elif bulk.left > 0 and not stopped:
        bulk.text += (
            f"; {bulk.left:,} were not, since they ended or other jobs hold their unique keys"
        )
    ended = "incomplete" if bulk.left > 0 else "done"
    bulk.state = "failed" if problem else "stopped" if stopped else ended


def _changes(pool: QueuePool, bulk: Bulk) -> Iterator[int]:
    """Change the jobs that match, page by page; yields how many of each page changed."""
    state, where = where_of(bulk.given)
    walks_again = True
    while walks_again:
        found, walks_again = pool.inspect.find(state, **({"newest": False} | where)), False
        while page := list(islice(found, _size(bulk))):
            changed = sum(_CHANGE[bulk.what](*at) for at in _by_place(pool, page))
            walks_again |= changed > 0 and bulk.what == "cancel"
            yield changed


def _size(bulk: Bulk) -> int:
    paced = _PAGE if bulk.rate is None else max(1, min(_PAGE, int(bulk.rate)))
    return min(paced, max(bulk.left, 1))


def _by_place(pool: QueuePool, page: list[JobStatus]) -> Iterator[tuple[Partition, list[str]]]:
    places: dict[tuple[int, str], list[str]] = {}
    for job in page:
        places.setdefault((job.partition, job.pool or DEFAULT_POOL), []).append(job.job_id)
    for (number, name), ids in places.items():
        yield pool.partition(number, name), ids


def _replay(place: Partition, ids: list[str]) -> int:
    return place.replay(ids).replayed


def _discard(place: Partition, ids: list[str]) -> int:
    return place.discard(ids)


def _cancel(place: Partition, ids: list[str]) -> int:
    waits = (JobState.READY, JobState.PARKED, JobState.DELAYED, JobState.IN_FLIGHT)
    return sum(place.cancel(job_id) in waits for job_id in ids)


_CHANGE = {"replay": _replay, "discard": _discard, "cancel": _cancel}
