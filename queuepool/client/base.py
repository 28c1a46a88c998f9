"""What both pools share, without the network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import Any, Generic, Self, TypeVar

from queuepool.client import calls
from queuepool.client.after import After
from queuepool.client.arguments import check_wait
from queuepool.client.batching import (
    begin,
    grow,
    refuse_others,
    undone,
)
from queuepool.client.chunks import CHUNK, Chunk, OpenChunks
from queuepool.client.continuing import refuse_unique
from queuepool.client.durability import confirmation_for
from queuepool.client.effects import Steps
from queuepool.client.flows.completing import complete
from queuepool.client.flows.noticing import noticing
from queuepool.client.flows.unfinished import unfinished
from queuepool.client.numbers import NOWHERE, Numbers
from queuepool.client.producer import Producer
from queuepool.client.results import EnqueueResults, FailureResults
from queuepool.client.routes import PartitionKey
from queuepool.client.sender import Sender
from queuepool.client.spreading import spread_out
from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown
from queuepool.models import Durability
from queuepool.routing.topology import single
from queuepool.settings.config import PoolConfig
from queuepool.tasks.batch_ref import BatchRef
from queuepool.tasks.job import Job
from queuepool.tasks.registry import Registry, default_registry

P = TypeVar("P")


class BasePool(Generic[P]):
    """Settings, producer and sender of a pool."""

    def __init__(
        self,
        url: str | None = None,
        *,
        partitions: int = 4,
        durability: Durability | str | None = None,
        config: PoolConfig | None = None,
        registry: Registry = default_registry,
        servers: Mapping[str, P] | None = None,
    ) -> None:
        """Create a pool from a URL, or from a whole config (see also from_env).

        durability: overrides the config's. servers: ready-made servers by name, as
        queuepool.testing uses them.
        """
        if config is None:
            if url is None:
                name = type(self).__name__
                raise InvalidInputError(f"{name} needs a URL or a config; see {name}.from_env")
            config = PoolConfig(topology=single(url, partitions))
        if durability is not None:
            config = replace(config, durability=durability)
        self.config = config = replace(config, topology=config.topology.apart())
        self.producer = Producer(config, registry)
        self._default = Sender(config, confirmation_for(config, None))
        self._open(servers)

    def _open(self, servers: Mapping[str, P] | None) -> None:
        raise NotImplementedError

    @classmethod
    def from_env(cls, *, registry: Registry = default_registry) -> Self:
        """Create a pool from QUEUEPOOL_* variables, or for the cluster of `queuepool up`."""
        from queuepool.settings.environment import (
            load_pool_config,  # pydantic is imported only here
        )

        return cls(config=load_pool_config(), registry=registry)

    def _sender(self, durability: Durability | str | None) -> Sender:
        if durability is None:
            return self._default
        return replace(self._default, confirmation=confirmation_for(self.config, durability))

    def _bulk(
        self,
        task: calls.AnyTask | Iterable[Job[Any]],
        items: calls.Items | None,
        *,
        partition_key: PartitionKey | None = None,
        wait_when_full_s: float = 0.0,
        results: str = "all",
        durability: Durability | str | None = None,
        **options: Any,
    ) -> tuple[Sender, Iterator[Chunk], OpenChunks, calls.TaskOf]:
        """Return the sender of a bulk call, and what calls.many returns."""
        wait_s = check_wait("wait_when_full_s", wait_when_full_s)
        if results not in ("all", "failures"):
            raise InvalidInputError(f'results={shown(results)}: use "all" or "failures"')
        kept: dict[int, int] | None = None if results == "all" else {}
        new_results = EnqueueResults if kept is None else partial(FailureResults[Any], kept)
        sender = self._sender(durability)
        sender = replace(sender, wait_when_full_s=wait_s, new_results=new_results)
        return sender, *calls.many(self.producer, task, items, partition_key, kept=kept, **options)

    def _many_in_batch(
        self,
        task: calls.AnyTask | Iterable[Job[Any]],
        items: calls.Items | None,
        *,
        then: After | None,
        into: BatchRef | None,
        trace: str | None = None,
        **options: Any,
    ) -> Steps[tuple[EnqueueResults[Any], calls.TaskOf, str]]:
        """Enqueue jobs with a continuation, or into a batch; return what it is called as well."""
        config, key = self.config, options.get("partition_key")
        refuse_others(then, into)
        sender, task, items, jobs = self._checked(task, items, into, options)
        if options.get("spread") is not None:
            options["spread"] = yield from self._spread_of(None, options)
        if then is not None:
            numbers = yield from begin(self.producer, sender, then, key, into, trace)
        elif into is not None:
            numbers = yield from grow(config, into, jobs)
        repeats = into is not None or numbers.count is not None  # then the batch lacks no jobs
        name, mine = numbers.batch, None if repeats else then
        with unfinished(name, mine) as left:
            many = self._bulk(task, items, numbers=numbers, trace=trace, **options)
            _, chunks, held, task_of = many
            fit = map(numbers.mark, map(refuse_unique, chunks))
            results = sender.new_results()
            try:
                yield from sender.all(fit, held, noticing(config, name), results)
            except Exception:
                left.behind = not (yield from undone(config, name, mine, results))
                raise
        yield from complete(config, name, results, then, mine)
        return results, task_of, name

    def _checked(
        self,
        task: calls.AnyTask | Iterable[Job[Any]],
        items: calls.Items | None,
        into: BatchRef | None,
        options: Mapping[str, Any],
    ) -> tuple[Sender, calls.AnyTask | Iterable[Job[Any]], calls.Items | None, int]:
        """Return the sender of a call, its jobs, and how many they are if they go into a batch.

        Raises InvalidInputError, before anything is written, for a wrong option, for a wrong job
        among the first ones, and for any that would go into a batch: that waits for the numbers
        reserved for it, also for that of the continuation of a batch in it.
        """
        alike = {name: value for name, value in options.items() if name != "spread"}
        sender, *_ = self._bulk(task, items, **alike)
        given: Any = task if items is None else items
        source = iter(given)
        some = list(source if into is not None else islice(source, CHUNK))
        own = (some, None) if items is None else (task, some)
        _, chunks, _held, _task_of = self._bulk(*own, numbers=Numbers(NOWHERE, 0), **alike)
        for chunk in chunks:
            refuse_unique(chunk)
        jobs = chain(some, source)
        return sender, *((jobs, None) if items is None else (task, jobs)), len(some)

    def _spread_of(self, task: object, options: Mapping[str, Any]) -> Steps[int]:
        """Return over how many slots jobs go. task: a Job may have a key of its own."""
        key, tenant = options.get("partition_key"), options.get("tenant")
        if isinstance(task, Job):
            key = key if task.partition_key is None else task.partition_key
            tenant = tenant if task.tenant is None else task.tenant
        return spread_out(self.producer, key, tenant, options["spread"])

    def _place_of(self, partition_key: str | bytes | None, tenant: str | None) -> dict[str, Any]:
        """Return where to look for a job of this key, as arguments of a handle."""
        if partition_key is None:
            return {"partition": None}
        route = self.producer.route(partition_key, tenant)
        return {"partition": route.partition, "route": route}
