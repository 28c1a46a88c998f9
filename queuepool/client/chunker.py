"""From the items of one bulk call to chunks: jobs of any partitions, in the given order.

item -> key -> route -> open chunk of its partition --200 jobs, or 4 MiB--> yielded
                        all open chunks together    --20,000 jobs, or 32 MiB--> all yielded
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from queuepool.client.arguments import check_delay, check_job_id, seconds_of
from queuepool.client.chunks import (
    CHUNK,
    CHUNK_BYTES,
    STAMP_BYTES,
    Chunk,
    OpenChunks,
    emptied,
    given,
)
from queuepool.client.defaults import (
    Defaults,
    TaskName,
    milliseconds,
    options_of,
    own_defaults,
    wish_of,
)
from queuepool.client.numbers import Numbers
from queuepool.client.routes import PartitionKey, Route, Routes
from queuepool.errors import InvalidInputError, JobTimeoutError
from queuepool.models.places import check_pool
from queuepool.protocol import codec, ids
from queuepool.routing.spreading import part_of_job
from queuepool.settings.config import PoolConfig
from queuepool.tasks.job import Job
from queuepool.tasks.options import check_tier
from queuepool.tasks.wishes import Wish

_HELD_BACK, _HELD_BACK_BYTES = 20_000, 32 * 1024**2  # jobs and bytes of all open chunks together

Items = Iterable[Mapping[str, Any] | Job[Any]]


class Chunker:
    """Lays out the jobs of one bulk call."""

    def __init__(
        self,
        routes: Routes,
        config: PoolConfig,
        defaults: Defaults,
        partition_key: PartitionKey | None,
        tenant: str | None = None,
        numbers: Numbers | None = None,
        spread: int = 1,
    ) -> None:
        self._routes, self._defaults, self._key = routes, defaults, partition_key
        self._config = config
        self._limit, self._tenant = config.max_payload_bytes, tenant
        one = partition_key if isinstance(partition_key, (str, bytes)) else None
        self._numbers = numbers  # of a batch that the jobs are in
        self._fixed = None if one is None or spread > 1 else self._routes.of(one, tenant)
        self._spread, self._next_part = spread, 0
        self._fresh: list[bytes] = []  # ids of the fixed route, or random ends of any other's

    def chunks(self, items: Items, open_chunks: OpenChunks) -> Iterator[Chunk]:
        """Yield chunks, as Producer.chunks does. open_chunks: those not yet yielded."""
        failure = None
        try:
            yield from self._full(items, open_chunks)
        except JobTimeoutError:
            raise
        except Exception as error:
            if not all(chunk.whole and not chunk.taken for chunk in open_chunks.values()):
                raise
            failure = error
        yield from emptied(open_chunks)
        if failure is not None:
            raise failure

    def _full(self, items: Iterable[Any], open_chunks: OpenChunks) -> Iterator[Chunk]:
        defaults, fixed, fresh, limit = self._defaults, self._fixed, self._fresh, self._limit
        tier, task, check = int(defaults.tier), defaults.task, defaults.check
        options, wishes = options_of(defaults, None, fixed), defaults.wishes
        delay_ms, known = milliseconds(defaults.delay_s), dict[TaskName, Defaults]()
        plain, hinted = defaults.for_task is None, fixed is not None and self._numbers is None
        jobs, size, since = 0, 0, 1 if fixed is None else fixed.since  # of all open chunks
        for position, item in enumerate(items):
            if not fresh:
                fresh += self._fresh_ids()
            job = item if isinstance(item, Job) else None
            route = fixed
            if route is None or (job is not None and not (job.partition_key is job.tenant is None)):
                route = self._route_of(item if job is None else job.payload, job)
            if job is None and plain and (fixed is not None or route.key_text is None):
                run = (tier + route.shift, route.group, delay_ms)
                envelope = codec.encode_envelope(task, item, options, limit=limit)
                job_id = fresh.pop() if hinted else route.hint + fresh.pop()
                if check is not None:
                    check(item, envelope)
                wish = None if wishes is None else wishes.of(item)
            else:
                route, run, job_id, envelope, wish = self._special(known, job, item, route)
            chunk = open_chunks.get(route.place)
            if chunk is None or chunk.version != route.version:
                if route.since != since:  # jobs of a group must not overtake others of it
                    yield from emptied(open_chunks)
                    jobs, size, since = 0, 0, route.since
                chunk, fixed = self._opened(open_chunks, route)
            chunk.add(run, job_id, tail := route.tail + envelope, wish)
            if job is not None and job.job_id is not None:
                chunk.chosen.add(job_id)
            chunk.positions.append(position)
            jobs, size = jobs + 1, size + STAMP_BYTES + len(tail)
            if jobs >= _HELD_BACK or size > _HELD_BACK_BYTES:
                yield from emptied(open_chunks)
                jobs = size = 0
            elif len(chunk.ids) == CHUNK or chunk.size_bytes > CHUNK_BYTES:
                jobs, size = jobs - len(chunk.ids), size - chunk.size_bytes
                yield from given(open_chunks, route.place)

    def _opened(self, open_chunks: OpenChunks, route: Route) -> tuple[Chunk, Route | None]:
        """Return the chunk for a route, and the fixed route, newer if there is a newer one."""
        chunk = open_chunks.get(route.place)
        if chunk is None:
            chunk = open_chunks[route.place] = _chunk(route)
        chunk.version = min(chunk.version, route.version)
        if self._fixed is not None:
            self._fixed = self._routes.of(self._key, self._tenant)  # type: ignore[arg-type]
        return chunk, self._fixed

    def _route_of(self, payload: Any, job: Job[Any] | None) -> Route:
        key: Any = job.partition_key if job is not None else None
        if key is None:
            key = self._key
        tenant = self._tenant if job is None or job.tenant is None else job.tenant
        route = self._routes.of(key(payload) if callable(key) else key, tenant)
        if self._spread == 1 or key is not self._key or tenant is not self._tenant:
            return route
        if job is not None and job.job_id is not None:
            part = part_of_job(check_job_id(job.job_id).encode(), self._spread)
        else:
            part = self._next_part = (self._next_part + 1) % self._spread
        return self._routes.part(route, part)

    def _special(
        self, known: dict[TaskName, Defaults], job: Job[Any] | None, item: Any, route: Route
    ) -> tuple[Route, tuple[Any, ...], bytes, bytes, Wish | None]:
        defaults, payload = own_defaults(self._defaults, job, known), item
        pool = defaults.pool if job is None or job.pool is None else check_pool(job.pool)
        route = route.into(pool, self._config)
        tier, delay_s, own_id = defaults.tier, defaults.delay_s, None
        if job is not None:
            payload = job.payload
            tier = defaults.tier if job.tier is None else check_tier(job.tier)
            own_delay_s = job.delay_s if job.delay is None else seconds_of(job.delay, job.delay_s)
            delay_s = defaults.delay_s if own_delay_s is None else check_delay(own_delay_s)
            own_id = job.job_id
        run = (tier + route.shift, route.group, milliseconds(delay_s))
        options = options_of(defaults, job, route)
        envelope = codec.encode_envelope(defaults.task, payload, options, limit=self._limit)
        if defaults.check is not None:
            defaults.check(payload, envelope)
        wish = wish_of(defaults, job, payload)
        if own_id is None:
            ending = self._fresh.pop()
            if self._numbers is None:
                ending = ids.ending_of(ending)
            return route, run, route.hint + ending, envelope, wish
        if self._numbers is not None:
            raise InvalidInputError("a job of a batch cannot have a job_id: its id names the batch")
        return route, run, check_job_id(own_id).encode(), envelope, wish

    def _fresh_ids(self) -> list[bytes]:
        if self._numbers is not None:
            return [self._numbers.next_ending()]
        if self._fixed is None:
            return ids.new_endings(CHUNK, os.urandom(9 * CHUNK))
        return ids.new_ids(CHUNK, os.urandom(21 * CHUNK // 2), self._fixed.hint)


def _chunk(route: Route) -> Chunk:
    chunk = Chunk(route.partition, route.base, pool=route.pool)
    chunk.version, chunk.since = route.version, route.since
    return chunk
