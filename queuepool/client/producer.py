"""From jobs to calls: everything about enqueueing that needs no network. Pure but for entropy.

`Producer.chunks` turns any iterable into chunks of at most 200 jobs of one partition and pool,
buffering a bounded number of jobs, in order within each task group. QueuePool and AsyncQueuePool
send the same chunks; sending one again adds no job twice.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from queuepool.client.arguments import check_delay, check_job_id
from queuepool.client.chunker import Chunker
from queuepool.client.chunks import Chunk, OpenChunks
from queuepool.client.defaults import (
    CallLimits,
    Defaults,
    milliseconds,
    options_of,
    wish_of,
)
from queuepool.client.numbers import Numbers
from queuepool.client.routes import PartitionKey, Route, Routes, remember
from queuepool.models import Tier
from queuepool.models.places import DEFAULT_POOL, check_pool
from queuepool.protocol import codec, ids
from queuepool.routing.spreading import part_of_job, refuse_unfit
from queuepool.settings.config import PoolConfig
from queuepool.tasks.job import Job
from queuepool.tasks.limiting import LimitOption
from queuepool.tasks.options import check_attempts, check_name, check_tier, check_timeout
from queuepool.tasks.registry import Registry, Task
from queuepool.tasks.wishes import UniqueKey, UniqueKeyOf, wishes_of


class Producer:
    """Routes, checks and lays out jobs. Safe to share between threads."""

    def __init__(self, config: PoolConfig, registry: Registry) -> None:
        self.config, self.registry = config, registry
        self._routes, self.limits = Routes(config), CallLimits(registry)
        self._routes_of_pools = {config.keyspace.pool: self._routes}
        self._defaults: dict[str, Defaults] = {}
        self.spread: dict[bytes, tuple[int, float]] = {}  # groups -> over how many slots, until s

    def route(self, partition_key: str | bytes, tenant: str | None = None) -> Route:
        """Return where a partition key's jobs go. Raises InvalidInputError."""
        return self._routes.of(partition_key, tenant)

    def routes_of(self, pool: str) -> Routes:
        """Return the routes to a pool. Raises InvalidInputError."""
        known = self._routes_of_pools.get(pool)
        if known is None:
            known = Routes(self.config.of(pool))
            remember(self._routes_of_pools, pool, known)
        return known

    def defaults(
        self,
        task: str | Callable[..., Any],
        *,
        tier: Tier | int | str | None = None,
        delay_s: float | None = None,
        max_attempts: int | None = None,
        timeout_s: float | None = None,
        expires_s: float | None = None,
        unique: UniqueKey | UniqueKeyOf | None = None,
        unique_until: str | None = None,
        on_conflict: str | None = None,
        limit: LimitOption | None = None,
        pool: str | None = None,
    ) -> Defaults:
        """Check the options of a call. Raises InvalidInputError."""
        task_known = self.registry.find(name := self.registry.name_of(task))
        plain = tier is delay_s is max_attempts is timeout_s is expires_s is None
        plain = plain and unique is unique_until is on_conflict is limit is pool is None
        known = self._defaults.get(name) if plain else None
        if known is not None and known.of is task_known:
            return known
        check_name(name)
        own_wishes = None if task_known is None else task_known.wishes
        limits = self.limits.of(limit, task_known)
        made = Defaults(
            task=name,
            of=task_known,
            tier=_tier_of(tier, task_known),
            delay_s=check_delay(0.0 if delay_s is None else delay_s),
            max_attempts=None if max_attempts is None else check_attempts(max_attempts),
            timeout_s=None if timeout_s is None else check_timeout(timeout_s),
            check=None if task_known is None else task_known.signature.check,
            wishes=wishes_of(unique, unique_until, on_conflict, expires_s, limits, own_wishes),
            limits=self.limits,
            pool=_pool_of(pool, task_known),
        )
        if plain:
            remember(self._defaults, name, made)
        return made

    def single(
        self,
        defaults: Defaults,
        payload: Mapping[str, Any],
        partition_key: str | bytes | None,
        job_id: str | None,
        tenant: str | None = None,
        spread: int = 1,
    ) -> Chunk:
        """Return a chunk of one job: a fast path, since a caller waits for it.

        spread: over how many slots the group is spread; the job goes to one of them.
        """
        pool = defaults.pool
        routes = self._routes if pool == self._routes.pool else self.routes_of(pool)
        route = routes.of(partition_key, tenant)
        ending = ids.ending_from(os.urandom(9)) if job_id is None else check_job_id(job_id).encode()
        if spread > 1:
            route = routes.part(route, part_of_job(ending, spread))
        options = options_of(defaults, None, route)
        limit = self.config.max_payload_bytes
        envelope = codec.encode_envelope(defaults.task, payload, options, limit=limit)
        check = defaults.check
        if check is not None:
            check(payload, envelope)
        chunk = Chunk(route.partition, route.base, positions=[0], pool=route.pool)
        chunk.version, chunk.since = route.version, route.since
        raw_id = route.hint + ending if job_id is None else ending
        if job_id is not None:
            chunk.chosen.add(raw_id)
        run = (defaults.tier + route.shift, route.group, milliseconds(defaults.delay_s))
        chunk.add(run, raw_id, route.tail + envelope, wish_of(defaults, None, payload))
        return chunk if spread == 1 else refuse_unfit(chunk)

    def chunks(
        self,
        defaults: Defaults,
        items: Iterable[Mapping[str, Any] | Job[Any]],
        partition_key: PartitionKey | None,
        held: OpenChunks | None = None,
        tenant: str | None = None,
        numbers: Numbers | None = None,
        spread: int = 1,
    ) -> Iterator[Chunk]:
        """Yield chunks; `positions` numbers the jobs, in the order of the iterable.

        held: filled with the chunks of consumed jobs, until the next chunk is requested. numbers:
        of the batch that the jobs are in. spread: over how many slots the group is spread.
        An error of an item, or of the iterable, is raised after all earlier items are yielded; but
        immediately if it is a timeout, or came in the middle of a job.
        """
        open_chunks = {} if held is None else held
        routes = self.routes_of(defaults.pool)
        chunker = Chunker(routes, self.config, defaults, partition_key, tenant, numbers, spread)
        chunks = chunker.chunks(items, open_chunks)
        return chunks if spread == 1 else map(refuse_unfit, chunks)


def _tier_of(tier: Tier | int | str | None, task: Task | None) -> Tier:
    if tier is None:
        tier = Tier.DEFAULT if task is None else task.tier
    return check_tier(tier)


def _pool_of(pool: str | None, task: Task | None) -> str:
    if pool is None:
        pool = DEFAULT_POOL if task is None else task.pool
    return check_pool(pool)
