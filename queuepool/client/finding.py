"""Looking for jobs, as steps for both pools: page by page, in all partitions and pools.

Every call looks at a bounded number of jobs, so it costs a server about a millisecond, however many
there are. Dead and delayed jobs come in the order of time over all partitions; others as they are
found, one partition after the other.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

from queuepool.client.effects import Steps
from queuepool.client.questions import ask, ask_each, numbered, places_of
from queuepool.client.routes import Route
from queuepool.client.spreading import parts_of
from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown
from queuepool.models import JobState, JobStatus
from queuepool.models.finding import (
    Digest,
    ErrorCount,
    JobFilter,
    RunningJob,
    digest_of,
)
from queuepool.models.history import PastRun, is_slow, usual_s
from queuepool.models.places import DEFAULT_POOL
from queuepool.protocol import ids
from queuepool.routing.finding import ASKED_AT_ONCE
from queuepool.settings.config import PoolConfig
from queuepool.verbs import Verb
from queuepool.verbs.operator import finding
from queuepool.verbs.operator import verbs as operate

T = TypeVar("T")
Place = tuple[int, str]

SAMPLE = 10_000  # jobs whose errors are looked at
MOST_RUNNING = 10_000
_PAGE = 200
_JUDGED = 64  # places whose history is looked at
_AHEAD = 64  # partitions that are read at once where little is found
_SAMPLED_AT_ONCE = 16  # partitions; each call takes a server up to a millisecond
_ORDERED = (JobState.DEAD, JobState.DELAYED)


class Sought(NamedTuple):
    """Where to look: a place, and for which group there, if for one. part: of a spread group."""

    place: Place
    group: bytes | None
    part: int = 0


@dataclass
class _Source:
    """One place and what was read of it. group: the only one that is looked for there."""

    place: Place
    group: bytes | None
    cursor: bytes = b""
    ended: bool = False
    waiting: deque[JobStatus] = field(default_factory=deque)

    def take(self, page: finding.Page, where: JobFilter) -> None:
        pool = self.place[1]
        named = None if pool == DEFAULT_POOL else pool
        jobs = (replace(job, pool=named) if named else job for job in page.jobs)
        self.waiting.extend(job for job in jobs if where.matches(job))
        self.cursor, self.ended = page.cursor, not page.cursor


class Walk:
    """A walk through the jobs that match. looked: at how many. now_ms: of the servers, lately."""

    def __init__(self, config: PoolConfig, where: JobFilter, sought: Sequence[Sought]) -> None:
        self._config, self._where = config, where
        self._sources = [_Source(place, group) for place, group, _ in sought]
        self._ordered = where.state in _ORDERED
        self._ahead = 1  # sources that are read together; more, after such that held nothing
        self.looked = self.now_ms = 0

    @property
    def until_ms(self) -> int | None:
        """Return up to when jobs are not left out; None: whenever."""
        return self._where.until_ms

    @property
    def is_over(self) -> bool:
        """Return whether no jobs are left to look at."""
        return not self._sources

    def page(self, size: int, *, look: int | None = None) -> Steps[list[JobStatus]]:
        """Return up to `size` jobs; none at the end.

        look: after looking at so many, return what was found, which may be nothing.
        """
        found: list[JobStatus] = []
        size, begun = min(size, _PAGE), self.looked
        while len(found) < size and self._sources:
            if look is not None and self.looked - begun >= look:
                break
            ahead = self._sources if self._ordered else self._sources[: self._ahead]
            short = [source for source in ahead if not source.waiting and not source.ended]
            if short:
                yield from self._read(short, size)
                had_none = not any(source.waiting for source in short)
                self._ahead = min(2 * self._ahead, _AHEAD) if had_none else 1
            else:
                self._merge(found, ahead, size)
            self._sources = [s for s in self._sources if s.waiting or not s.ended]
        return found

    def end_now(self) -> None:
        """Leave out, from now on, what changes its place after what was read so far."""
        until_ms = self._where.until_ms
        until_ms = self.now_ms if until_ms is None else min(until_ms, self.now_ms)
        self._where = replace(self._where, until_ms=until_ms)

    def _read(self, sources: Sequence[_Source], size: int) -> Steps[None]:
        where = self._where
        most = size if where.is_exact else _PAGE
        for pool in {source.place[1] for source in sources}:
            of_pool = [s for s in sources if s.place[1] == pool]
            calls: list[tuple[int, Verb[tuple[int, finding.Page]]]] = []
            for n, source in enumerate(of_pool):
                number, wanted = source.place[0], replace(where, group=source.group)
                verb = finding.find(number, wanted, source.cursor, most=most)
                calls.append((number, numbered(n, verb)))
            for n, page in (yield from ask_each(self._config.of(pool), calls)):
                of_pool[n].take(page, where)
                self.looked += page.looked
                self.now_ms = max(self.now_ms, page.now_ms)

    def _merge(self, found: list[JobStatus], sources: Sequence[_Source], size: int) -> None:
        """Take what is next, as long as it is known of each source what that would be."""
        sign = -1 if self._where.newest else 1
        heap = [(sign * (s.waiting[0].at_ms or 0), n) for n, s in enumerate(sources) if s.waiting]
        heapq.heapify(heap)
        while heap and len(found) < size:
            _, n = heapq.heappop(heap)
            source = sources[n]
            found.append(source.waiting.popleft())
            if source.waiting:
                heapq.heappush(heap, (sign * (source.waiting[0].at_ms or 0), n))
            elif not source.ended:
                return


def at_least_one(name: str, value: object) -> None:
    """Raise InvalidInputError unless a number of jobs is a whole one, and not 0."""
    if type(value) is not int or value < 1:
        raise InvalidInputError(f"{name}={shown(value)}: use 1 or more jobs")


def walk(
    config: PoolConfig,
    where: JobFilter,
    *,
    partition: int | None,
    pool: str | None,
    route: Route | None = None,
) -> Steps[Walk]:
    """Return a walk through a partition and a pool, or through all; or through a group's parts.

    route: of the group that the filter names, if it names one.
    """
    return Walk(config, where, (yield from seek(config, partition, pool, route)))


def seek(
    config: PoolConfig, partition: int | None, pool: str | None, route: Route | None
) -> Steps[list[Sought]]:
    """Return where to look: in these places, or for a group where it is, or its parts are."""
    if route is None:
        places = yield from _places(config, partition, pool)
        return [Sought(place, None) for place in places]
    found: list[Sought] = []
    for part, there in enumerate((yield from parts_of(config, route))):
        places = yield from _places(config, there.partition, pool)
        found += [Sought(place, there.group, part) for place in places]
    return found


def _places(config: PoolConfig, partition: int | None, pool: str | None) -> Steps[list[Place]]:
    found = yield from places_of(config, partition)
    return [place for place in found if pool in (None, place[1])]


def _ask_places(
    config: PoolConfig, verbs: Mapping[Place, Verb[T]], at_once: int = ASKED_AT_ONCE
) -> Steps[list[tuple[Place, T]]]:
    """Run a verb in each of these places, in a bounded number of them at once."""
    found: list[tuple[Place, T]] = []
    for pool in sorted({pool for _, pool in verbs}):
        all_calls = [(n, numbered(n, verb)) for (n, name), verb in verbs.items() if name == pool]
        for begin in range(0, len(all_calls), at_once):
            calls = all_calls[begin : begin + at_once]
            replies = yield from ask_each(config.of(pool), calls)
            found += [((number, pool), reply) for number, reply in replies]
    return found


def running(config: PoolConfig, *, partition: int | None, most: int) -> Steps[list[RunningJob]]:
    """Return the jobs that run, the longest first."""
    at_least_one("most", most)
    where = JobFilter(state=JobState.IN_FLIGHT)
    through = yield from walk(config, where, partition=partition, pool=None)
    found: list[RunningJob] = []
    while len(found) < MOST_RUNNING and (page := (yield from through.page(_PAGE))):
        now_ms = through.now_ms
        found += (
            RunningJob(job=job, age_s=max(0, now_ms - job.at_ms) / 1000)
            for job in page
            if job.at_ms is not None
        )
    found.sort(key=lambda one: -one.age_s)
    return (yield from _judged(config, found[:most]))


def _judged(config: PoolConfig, found: Sequence[RunningJob]) -> Steps[list[RunningJob]]:
    """Note which jobs run far longer than their tasks usually do, as far as history tells."""
    places = {(one.job.partition, one.job.pool or DEFAULT_POOL) for one in found}
    runs: list[PastRun] = []
    verbs = dict.fromkeys(sorted(places)[:_JUDGED], finding.history(None))
    for _, (_, some) in (yield from _ask_places(config, verbs, _SAMPLED_AT_ONCE)):
        runs += some
    usual = usual_s(runs)
    return [
        replace(one, usual_s=known, slow=is_slow(one.age_s, known))
        for one in found
        for known in (usual.get(one.job.task or ""),)
    ]


def history(
    config: PoolConfig, job_id: str, *, route: Route | None, most: int
) -> Steps[list[PastRun]]:
    """Return the latest executions of a job that are on record, the earliest of these first.

    route: of its group, if its key is known. An id that names its slot tells more than that.
    """
    at_least_one("most", most)
    slot = ids.hinted_slot(job_id)
    looks: tuple[tuple[int | None, Route | None], ...] = ((None, route),)
    if slot is not None:
        looks = ((config.topology.view.partition_of(slot), None), (None, None))
    found: list[PastRun] = []
    for number, of in looks:
        sought = yield from seek(config, number, None, of)
        for place in dict.fromkeys(one.place for one in sought):
            skip = 0
            while skip >= 0 and len(found) < most:
                verb = finding.history(job_id, skip)
                skip, some = yield from ask(config.of(place[1]), place[0], verb)
                found += some
        if found:
            break
    found.reverse()  # they come latest first, which counts for those of one ms
    return sorted(found, key=lambda run: run.ended_ms)[-most:]


def count(
    config: PoolConfig,
    where: JobFilter,
    *,
    partition: int | None,
    pool: str | None,
    route: Route | None = None,
) -> Steps[int]:
    """Return how many jobs match; the arguments are those of `walk`."""
    sought = yield from seek(config, partition, pool, route)
    if not where.is_exact:
        through, total = Walk(config, where, sought), 0
        while page := (yield from through.page(_PAGE)):
            total += len(page)
        return total
    total = 0
    for (number, name), group, _ in sought:
        cursor, begun, wanted = b"", False, replace(where, group=group)
        while cursor or not begun:
            verb = finding.find(number, wanted, cursor, most=0)
            page_ = yield from ask(config.of(name), number, verb)
            total, cursor, begun = total + page_.matching, page_.cursor, True
    return total


def errors(config: PoolConfig, *, partition: int | None, sample: int) -> Steps[list[ErrorCount]]:
    """Return the errors of dead and retrying jobs, the commonest first.

    sample: how many jobs are looked at; of more than that, an evenly spread part.
    """
    at_least_one("sample", sample)
    places = yield from _places(config, partition, None)
    found: dict[str, ErrorCount] = {}
    sizes: dict[tuple[Place, str], int] = {}
    for kind in ("dead", "delayed"):
        verb = finding.errors(kind, 0, 1, 0)
        ranks = yield from _ask_places(config, dict.fromkeys(places, verb))
        sizes |= {(place, kind): size for place, (_, size, _) in ranks}
    step = max(1, -(-sum(sizes.values()) // sample))
    for kind in ("dead", "delayed"):
        left = {place: 0 for place in places if sizes[place, kind]}  # the rank to go on with
        while left:
            verbs = {place: finding.errors(kind, rank, step) for place, rank in left.items()}
            parts = yield from _ask_places(config, verbs, _SAMPLED_AT_ONCE)
            left = {place: rank for place, (rank, _, _) in parts if rank >= 0}
            for one in (one for _, (_, _, counts) in parts for one in counts):
                known = found.get(one.fingerprint)
                found[one.fingerprint] = one if known is None else known.plus(one)
    return sorted(found.values(), key=lambda one: (-one.jobs, one.fingerprint))


def digest(config: PoolConfig, *, partition: int | None, sample: int) -> Steps[Digest]:
    """Return the dead jobs in short."""
    at_least_one("sample", sample)
    places = yield from _places(config, partition, None)
    verbs = {place: operate.observe(place[0]) for place in places}
    states = yield from _ask_places(config, verbs)
    total = sum(state.dead for _, state in states)
    return digest_of(total, (yield from errors(config, partition=partition, sample=sample)))
