"""From jobs to calls: everything about enqueueing that needs no network. Pure but for entropy.

`Producer.chunks` turns any iterable into chunks of at most 200 jobs of one partition, holding a
bounded number of jobs back, in order within each task group. QueuePool and AsyncQueuePool send
the same chunks; one that is sent again adds nothing that is there.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from queuepool.client.defaults import Defaults, TaskName, own_defaults
from queuepool.client.timing import seconds_of
from queuepool.errors import InvalidInputError, JobTimeoutError, shown
from queuepool.models import Tier
from queuepool.protocol import codec, ids
from queuepool.routing.slots import MAX_GROUP_BYTES, group_of, key_bytes, partition_of, slot_of
from queuepool.settings.config import PoolConfig
from queuepool.tasks.job import Job
from queuepool.tasks.registry import Registry, check_attempts, check_name, check_tier, check_timeout
from queuepool.verbs import Argument, Verb
from queuepool.verbs.producer import verbs as produce

CHUNK = 200
_CHUNK_BYTES = 4 * 1024**2  # a chunk is closed beyond it, however few its jobs
_HELD_BACK, _HELD_BACK_BYTES = 20_000, 32 * 1024**2  # jobs and bytes of all open chunks together
_KNOWN_ROUTES = 1024  # bound of every memory of routes and defaults
_KEY_TYPES = (str, bytes)
_OWN_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_MAX_DELAY_S = 366 * 86400
_STAMP_BYTES = 13

_NO_KEY = (
    "partition_key is missing: name what belongs together, such as the id of the bulk "
    "action; jobs that share it form a task group"
)

PartitionKey = str | bytes | Callable[[Mapping[str, Any]], str | bytes]


@dataclass(frozen=True, slots=True)
class Route:
    """Where the jobs of a partition key go. key_text: the key, when it is not the group itself.

    base: the base key of the partition. tail: what every body of the group begins with. hint: what
    the ids of its jobs begin with.
    """

    partition: int
    base: bytes
    group: bytes
    tail: bytes
    hint: bytes
    key_text: str | None


class Chunk(msgspec.Struct, eq=False):
    """At most 200 jobs of one partition, laid out for the enqueue script.

    sent_s: when a call with it was sent last; 0: never, so it is certainly not in.
    unanswered_since_s: when the first call with it was sent that had no answer; it may be in.
    taken: whether whoever sends it was given it, at least nearly.
    chosen: those of its ids that the application chose; the others are ours alone.
    """

    partition: int
    key: bytes
    size_bytes: int = 0
    sent_s: float = 0.0
    unanswered_since_s: float | None = None
    ids: list[bytes] = msgspec.field(default_factory=list)
    positions: list[int] = msgspec.field(default_factory=list)
    runs: list[Argument] = msgspec.field(default_factory=list)
    chosen: set[bytes] = msgspec.field(default_factory=set)
    taken: bool = False
    _run: tuple[Any, ...] = ()
    _count_at: int = -1

    def add(self, run: tuple[Any, ...], job_id: bytes, tail: bytes) -> None:
        """Append one job; run = (tier, group, delay ms).

        Its position follows when it is whole: see `whole`.
        """
        self.ids.append(job_id)
        if run != self._run:
            self._run, self._count_at = run, len(self.runs) + 3
            self.runs += (*run, 0)
        self.runs[self._count_at] += 1  # type: ignore[operator]
        self.runs += (job_id, tail)
        self.size_bytes += _STAMP_BYTES + len(tail)

    @property
    def whole(self) -> bool:
        """Return whether every job in it is; one is not that an interruption struck amid `add`."""
        return 0 < len(self.ids) == len(self.positions)

    def doubt(self, since_s: float) -> None:
        """Remember that a call with it, sent at this time, was not answered."""
        if self.unanswered_since_s is None:
            self.unanswered_since_s = since_s

    def verb(self, config: PoolConfig) -> Verb[bytes | produce.Full]:
        """Return the call that enqueues the chunk."""
        return produce.enqueue(
            self.runs,
            jobs=len(self.ids),
            size_bytes=self.size_bytes,
            max_depth=config.max_depth,
            max_bytes=config.max_bytes,
        )


class Producer:
    """Routes, checks and lays out jobs. Safe to share between threads."""

    def __init__(self, config: PoolConfig, registry: Registry) -> None:
        self.config, self.registry = config, registry
        # Computed again and again for the same few keys and tasks otherwise. Threads may lose each
        # other's entries, which costs a computation.
        self._routes: dict[str | bytes, Route] = {}
        self._defaults: dict[str, Defaults] = {}

    def route(self, partition_key: str | bytes) -> Route:
        """Return where a partition key's jobs go. Raises InvalidInputError."""
        known = self._routes.get(partition_key) if type(partition_key) in _KEY_TYPES else None
        if known is not None:
            return known
        route = self._new_route(partition_key)
        if len(partition_key) <= MAX_GROUP_BYTES:
            _remember(self._routes, partition_key, route)
        return route

    def _new_route(self, partition_key: str | bytes) -> Route:
        key = key_bytes(partition_key)
        slot, group = slot_of(key), group_of(key)
        partition = partition_of(slot, self.config.topology.partitions)
        text = None if len(key) <= MAX_GROUP_BYTES else key[:1024].decode("utf-8", "replace")
        base = self.config.keyspace.partition(partition)
        tail = codec.encode_tail(slot, group)
        return Route(partition, base, group, tail, ids.hint_of(slot), text)

    def defaults(
        self,
        task: str | Callable[..., Any],
        *,
        tier: Tier | int | str | None,
        delay_s: float | None,
        max_attempts: int | None,
        timeout_s: float | None,
    ) -> Defaults:
        """Check what a call says of all its jobs. Raises InvalidInputError."""
        name = self.registry.name_of(task)
        plain = tier is delay_s is max_attempts is timeout_s is None
        known = self._defaults.get(name) if plain else None
        task_known = self.registry.find(name)
        if known is not None and known.of is task_known:
            return known
        check_name(name)
        if tier is None:
            tier = task_known.tier if task_known else Tier.DEFAULT
        made = Defaults(
            task=name,
            of=task_known,
            tier=check_tier(tier),
            delay_s=check_delay(0.0 if delay_s is None else delay_s),
            max_attempts=None if max_attempts is None else check_attempts(max_attempts),
            timeout_s=None if timeout_s is None else check_timeout(timeout_s),
            check=None if task_known is None else task_known.signature.check,
        )
        if plain:
            _remember(self._defaults, name, made)
        return made

    def single(
        self,
        defaults: Defaults,
        payload: Mapping[str, Any],
        partition_key: str | bytes | None,
        job_id: str | None,
    ) -> Chunk:
        """Return a chunk of one job: the short way, since a caller waits for it."""
        if partition_key is None:
            raise InvalidInputError(_NO_KEY)
        route = self.route(partition_key)
        options = _options(defaults, None, route)
        limit = self.config.max_payload_bytes
        envelope = codec.encode_envelope(defaults.task, payload, options, limit=limit)
        check = defaults.check
        if check is not None:
            check(payload, envelope)
        if job_id is None:
            raw_id = route.hint + ids.ending_from(os.urandom(9))
        else:
            raw_id = check_job_id(job_id).encode()
        chunk = Chunk(route.partition, route.base, positions=[0])
        if job_id is not None:
            chunk.chosen.add(raw_id)
        run = (int(defaults.tier), route.group, _ms(defaults.delay_s))
        chunk.add(run, raw_id, route.tail + envelope)
        return chunk

    def chunks(
        self,
        defaults: Defaults,
        items: Iterable[Mapping[str, Any] | Job[Any]],
        partition_key: PartitionKey | None,
        held: dict[int, Chunk] | None = None,
    ) -> Iterator[Chunk]:
        """Yield chunks; jobs are numbered by `positions`, in the order of the iterable.

        held: filled with the chunks whose jobs were taken, until the one after them is asked for.
        An error of an item, or of the iterable, comes out after all that was taken before it; but
        at once when it is a timeout, or struck amid a job.
        """
        open_chunks: dict[int, Chunk] = {} if held is None else held
        failure = None
        try:
            yield from self._full_chunks(defaults, items, partition_key, open_chunks)
        except JobTimeoutError:
            raise
        except Exception as error:
            if not all(chunk.whole and not chunk.taken for chunk in open_chunks.values()):
                raise
            failure = error
        yield from _emptied(open_chunks)
        if failure is not None:
            raise failure

    def _full_chunks(
        self,
        defaults: Defaults,
        items: Iterable[Mapping[str, Any] | Job[Any]],
        partition_key: PartitionKey | None,
        open_chunks: dict[int, Chunk],
    ) -> Iterator[Chunk]:
        fixed = self.route(partition_key) if isinstance(partition_key, (str, bytes)) else None
        options = _options(defaults, None, fixed)
        tier, delay_ms = int(defaults.tier), _ms(defaults.delay_s)
        limit, task, check = self.config.max_payload_bytes, defaults.task, defaults.check
        known, plain = dict[TaskName, Defaults](), defaults.for_task is None
        fresh: list[bytes] = []  # ids of the fixed route, or random ends for the ids of any other
        jobs = size = 0  # held back, all open chunks together
        for position, item in enumerate(items):
            if not fresh:
                fresh = _fresh_ids(fixed)
            job = item if isinstance(item, Job) else None
            payload: Any = item if job is None else job.payload
            route = fixed if job is None or job.partition_key is None else None
            if route is None:
                route = self._route_of(partition_key, payload, job)
            if job is None and plain and (fixed is not None or route.key_text is None):
                run = (tier, route.group, delay_ms)
                envelope = codec.encode_envelope(task, payload, options, limit=limit)
                job_id = fresh.pop() if fixed is not None else route.hint + fresh.pop()
                if check is not None:
                    check(payload, envelope)
            else:
                of = own_defaults(defaults, job, known)
                run, job_id, envelope = self._special(of, job, payload, route, fresh)
            chunk = open_chunks.get(route.partition)
            if chunk is None:
                chunk = open_chunks[route.partition] = Chunk(route.partition, route.base)
            tail = route.tail + envelope
            chunk.add(run, job_id, tail)
            if job is not None and job.job_id is not None:
                chunk.chosen.add(job_id)
            chunk.positions.append(position)
            jobs, size = jobs + 1, size + _STAMP_BYTES + len(tail)
            if jobs >= _HELD_BACK or size > _HELD_BACK_BYTES:
                yield from _emptied(open_chunks)
                jobs = size = 0
            elif len(chunk.ids) == CHUNK or chunk.size_bytes > _CHUNK_BYTES:
                jobs, size = jobs - len(chunk.ids), size - chunk.size_bytes
                yield from _given(open_chunks, route.partition)

    def _route_of(self, common: PartitionKey | None, payload: Any, job: Job[Any] | None) -> Route:
        key: Any = job.partition_key if job is not None else None
        if key is None:
            key = common
        if callable(key):
            key = key(payload)
        if key is None:
            raise InvalidInputError(_NO_KEY)
        return self.route(key)

    def _special(
        self,
        defaults: Defaults,
        job: Job[Any] | None,
        payload: Any,
        route: Route,
        fresh: list[bytes],
    ) -> tuple[tuple[Any, ...], bytes, bytes]:
        tier, delay_s, own_id = defaults.tier, defaults.delay_s, None
        if job is not None:
            tier = defaults.tier if job.tier is None else check_tier(job.tier)
            own_delay_s = job.delay_s if job.delay is None else seconds_of(job.delay, job.delay_s)
            delay_s = defaults.delay_s if own_delay_s is None else check_delay(own_delay_s)
            own_id = job.job_id
        run = (int(tier), route.group, _ms(delay_s))
        options, limit = _options(defaults, job, route), self.config.max_payload_bytes
        envelope = codec.encode_envelope(defaults.task, payload, options, limit=limit)
        if defaults.check is not None:
            defaults.check(payload, envelope)
        if own_id is None:
            return run, route.hint + ids.ending_of(fresh.pop()), envelope
        return run, check_job_id(own_id).encode(), envelope


def _fresh_ids(fixed: Route | None) -> list[bytes]:
    if fixed is None:
        return ids.new_endings(CHUNK, os.urandom(9 * CHUNK))
    return ids.new_ids(CHUNK, os.urandom(21 * CHUNK // 2), fixed.hint)


def _given(open_chunks: dict[int, Chunk], partition: int) -> Iterator[Chunk]:
    chunk = open_chunks[partition]
    chunk.taken = True
    yield chunk
    del open_chunks[partition]


def _emptied(open_chunks: dict[int, Chunk]) -> Iterator[Chunk]:
    while open_chunks:
        yield from _given(open_chunks, next(iter(open_chunks)))


def _remember(memory: dict[Any, Any], key: object, value: object) -> None:
    if len(memory) >= _KNOWN_ROUTES:
        memory.clear()
    memory[key] = value


def _options(defaults: Defaults, job: Job[Any] | None, route: Route | None) -> codec.Options:
    attempts, timeout_s = defaults.max_attempts, defaults.timeout_s
    if job is not None and job.max_attempts is not None:
        attempts = check_attempts(job.max_attempts)
    if job is not None and job.timeout_s is not None:
        timeout_s = check_timeout(job.timeout_s)
    key = route.key_text if route else None
    if attempts is None and timeout_s is None and key is None and defaults.trace is None:
        return codec.NO_OPTIONS
    return codec.Options(attempts, timeout_s, defaults.trace, key)


def check_job_id(job_id: object) -> str:
    """Return a valid id chosen by the user. Raises InvalidInputError."""
    if isinstance(job_id, str) and _OWN_ID.fullmatch(job_id):
        return job_id
    raise InvalidInputError(f"job_id={shown(job_id)}: use 1 to 64 of A-Z a-z 0-9 _ . : -")


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


def check_delay(delay_s: object) -> float:
    """Return a valid delay in seconds. Raises InvalidInputError."""
    if isinstance(delay_s, (int, float)) and not isinstance(delay_s, bool):
        seconds = float(delay_s) if abs(delay_s) < 1e300 else math.inf
        if 0 <= seconds <= _MAX_DELAY_S:
            return seconds
    raise InvalidInputError(
        f"delay_s={shown(delay_s)}: use 0 s to 366 days, or delay=timedelta(...)"
    )
