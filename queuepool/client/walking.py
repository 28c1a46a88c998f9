"""Walks through jobs that match, page by page, in the places where they may be.

Dead and delayed jobs come in the order of time over all places; others as they are found, one
place after the other. What is read together is bounded, so that a server has a millisecond's work.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from queuepool.client.effects import Steps
from queuepool.client.locating import located
from queuepool.client.questions import ask_each, numbered, places_of
from queuepool.client.routes import Route
from queuepool.client.spreading import parts_of
from queuepool.models import JobState, JobStatus
from queuepool.models.finding import JobFilter
from queuepool.models.places import DEFAULT_POOL
from queuepool.settings.config import PoolConfig
from queuepool.verbs import Verb
from queuepool.verbs.operator import finding

Place = tuple[int, str]

PAGE = 200
_AHEAD = 64  # partitions that are read at once where little is found
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
        size, begun = min(size, PAGE), self.looked
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
        most = size if where.is_exact else PAGE
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
        places = yield from chosen_places(config, partition, pool)
        return [Sought(place, None) for place in places]
    found: list[Sought] = []
    whole = yield from located(config, route)
    for part, there in enumerate((yield from parts_of(config, whole))):
        places = yield from chosen_places(config, there.partition, pool)
        found += [Sought(place, there.group, part) for place in places]
    return found


def chosen_places(
    config: PoolConfig, partition: int | None, pool: str | None
) -> Steps[list[Place]]:
    """Return the places in this partition and this pool; None: in each."""
    found = yield from places_of(config, partition)
    return [place for place in found if pool in (None, place[1])]
