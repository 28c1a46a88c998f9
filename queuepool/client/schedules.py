"""Schedules as applications and people set them: `pool.schedules`, over the same steps."""

from __future__ import annotations

import getpass
import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self, TypeVar

from queuepool.client import calls
from queuepool.client.chunks import Chunk
from queuepool.client.effects import Steps
from queuepool.client.network import AsyncNetwork, Network
from queuepool.client.producer import Producer
from queuepool.client.questions import ask_system
from queuepool.client.sender import Sender
from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown
from queuepool.models import Schedule, ScheduleStatus
from queuepool.models.schedules import MAX_SCHEDULES, check_schedule_name
from queuepool.tasks.job import AsyncEnqueued, Enqueued
from queuepool.verbs import Verb
from queuepool.verbs.schedules import verbs

T = TypeVar("T")
_UNTIL = {b"e": "end", b"s": "start"}


class UnknownScheduleError(InvalidInputError):
    """There is no schedule of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no schedule {name!r}; `queuepool schedule list` shows all")


def job_of(producer: Producer, schedule: Schedule, job_id: str) -> Chunk:
    """Return the job of a schedule as a call that enqueues it. Raises InvalidInputError."""
    chunk, _ = calls.one(
        producer,
        schedule.task,
        schedule.payload,
        partition_key=schedule.partition_key,
        job_id=job_id,
        unique=schedule.unique,
        tenant=schedule.tenant,
        tier=schedule.tier,
        max_attempts=schedule.max_attempts,
        timeout_s=schedule.timeout_s,
        expires_s=schedule.expires_s,
        unique_until=schedule.unique_until,
        on_conflict="skip",
        limit=schedule.limit,
        pool=schedule.pool,
    )
    return chunk


def resolved(producer: Producer, schedule: Schedule) -> Schedule:
    """Return the schedule with what its task declares here: who fires it knows no tasks.

    Raises InvalidInputError for what enqueue would refuse.
    """
    if schedule.every is not None and schedule.timezone != "UTC":
        raise InvalidInputError(
            f"schedule {schedule.name!r}: timezone={shown(schedule.timezone)} is only for cron: an "
            "interval is the same in each time zone"
        )
    chunk = job_of(producer, schedule, f"{schedule.name}:check")
    _, until, key, expires_ms, gate = chunk.wishes or (1, b"", b"", 0, b"")
    options: dict[str, Any] = {"unique": None, "unique_until": None}
    if isinstance(until, bytes) and until:
        options = {"unique": key, "unique_until": _UNTIL[until[:1]]}
    defaults = producer.defaults(schedule.task, tier=schedule.tier, pool=schedule.pool)
    return replace(
        schedule,
        tier=defaults.tier.name.lower(),
        pool=chunk.pool,
        expires_s=expires_ms / 1000 if isinstance(expires_ms, int) and expires_ms else None,
        limit=tuple(gate.decode().split(",")) if isinstance(gate, bytes) and gate else (),
        **options,
    )


class _Schedules:
    """What the schedules of both pools share."""

    __slots__ = ("_by", "_default", "_network", "_producer")

    def __init__(
        self, network: Any, producer: Producer, default: Sender, *, by: str | None = None
    ) -> None:
        self._network, self._producer, self._default = network, producer, default
        self._by = by

    def on_behalf_of(self, by: str) -> Self:
        """Return the same schedules, for which someone else is noted as who changed them."""
        return type(self)(self._network, self._producer, self._default, by=by)

    def _who(self) -> str:
        return _me() if self._by is None else self._by

    def _ask(self, verb: Verb[T]) -> Steps[T]:
        return ask_system(self._producer.config, verb)

    def _set(self, schedule: Schedule) -> Steps[bool]:
        given: object = schedule
        if not isinstance(given, Schedule):
            raise InvalidInputError(f"{shown(given)} is not a Schedule: use Schedule(name, task)")
        verb = verbs.set_schedule(resolved(self._producer, schedule), by=self._who())
        changed = yield from self._ask(verb)
        if changed < 0:
            raise InvalidInputError(
                f"there are {MAX_SCHEDULES:,} schedules, and no more are possible: remove some, or "
                f"combine several into one job"
            )
        return changed > 0

    def _declare(self) -> Steps[dict[str, bool]]:
        changed = {}
        for task in self._producer.registry:
            if task.schedule is not None:
                changed[task.name] = yield from self._set(task.schedule)
        return changed

    def _known(self, name: str, make: Callable[[str], Verb[int]]) -> Steps[bool]:
        changed = yield from self._ask(make(check_schedule_name(name)))
        if changed < 0:
            raise UnknownScheduleError(name)
        return changed > 0

    def _pause(self, name: str, *, on: bool) -> Steps[bool]:
        return self._known(name, lambda name: verbs.pause_schedule(name, on=on, by=self._who()))

    def _remove(self, name: str) -> Steps[bool]:
        return self._ask(verbs.remove_schedule(check_schedule_name(name)))

    def _get(self, name: str) -> Steps[ScheduleStatus | None]:
        read = yield from self._ask(verbs.schedules(name=check_schedule_name(name)))
        return read.found[0] if read.found else None

    def _list(self) -> Steps[list[ScheduleStatus]]:
        return list((yield from self._ask(verbs.schedules())).found)

    def _run(self, name: str) -> Steps[Enqueued]:
        status = yield from self._get(name)
        if status is None:
            raise UnknownScheduleError(name)
        if status.schedule is None:
            raise InvalidInputError(
                f"the stored schedule {name!r} is damaged: {status.problem}; set it again"
            )
        job_id = f"{name}:run-{secrets.token_hex(6)}"
        chunk = job_of(self._producer, status.schedule, job_id)
        return (yield from self._default.one(chunk))


def _me() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a user without a name
        return ""


class Schedules(_Schedules):
    """The schedules of a queue. The leading coordinator fires them: enqueues their jobs.

    >>> pool.schedules.set(Schedule("hello", greet, {"name": "Ada"}, cron="30 3 * * MON-FRI"))
    True
    >>> pool.schedules.pause("hello"), pool.schedules.resume("hello")
    (True, True)
    >>> [(each.name, each.schedule.cron) for each in pool.schedules.list()]
    [('hello', '30 3 * * MON-FRI')]
    >>> pool.schedules.run("hello").status
    <EnqueueStatus.ACCEPTED: 'accepted'>
    >>> pool.schedules.remove("hello")
    True
    """

    _network: Network

    def set(self, schedule: Schedule) -> bool:
        """Define a schedule, or change it: it is due at its times from now on.

        Returns whether that changed anything, so that each start of an application may set it. One
        that is paused stays so. The payload is checked where the task is registered, and what the
        task declares (tier, pool, limits, unique) is stored with it.
        """
        return self._network.do(self._set(schedule))

    def declare(self) -> dict[str, bool]:
        """Set the schedules that tasks declare: `@task(cron="0 3 * * *")`, `@task(every="10m")`.

        Returns their names, and whether that changed anything. Call it where an application is
        deployed or starts. One whose task declares it no more stays until it is removed.
        """
        return self._network.do(self._declare())

    def get(self, name: str) -> ScheduleStatus | None:
        """Return a schedule and what is known of it, None if there is none."""
        return self._network.do(self._get(name))

    def list(self) -> list[ScheduleStatus]:
        """Return all schedules, by name; at most 1,000."""
        return self._network.do(self._list())

    def pause(self, name: str) -> bool:
        """Let it fire no more; returns whether it was not paused. Raises UnknownScheduleError."""
        return self._network.do(self._pause(name, on=True))

    def resume(self, name: str) -> bool:
        """Let it fire again, at its times from now on; returns whether it was paused.

        Raises UnknownScheduleError.
        """
        return self._network.do(self._pause(name, on=False))

    def run(self, name: str) -> Enqueued:
        """Enqueue its job now, besides those of its times, also if it is paused.

        Raises UnknownScheduleError, and what enqueue raises.
        """
        return self._network.do(self._run(name))

    def remove(self, name: str) -> bool:
        """Forget a schedule; returns whether there was one. Jobs that it has enqueued stay."""
        return self._network.do(self._remove(name))


class AsyncSchedules(_Schedules):
    """The schedules of a queue, for asyncio: the methods of Schedules, awaited."""

    _network: AsyncNetwork

    async def set(self, schedule: Schedule) -> bool:
        """Define a schedule, or change it; returns whether that changed anything."""
        return await self._network.do(self._set(schedule))

    async def declare(self) -> dict[str, bool]:
        """Set the schedules that tasks declare; returns whether that changed anything."""
        return await self._network.do(self._declare())

    async def get(self, name: str) -> ScheduleStatus | None:
        """Return a schedule and what is known of it, None if there is none."""
        return await self._network.do(self._get(name))

    async def list(self) -> list[ScheduleStatus]:
        """Return all schedules, by name; at most 1,000."""
        return await self._network.do(self._list())

    async def pause(self, name: str) -> bool:
        """Let it fire no more; returns whether it was not paused."""
        return await self._network.do(self._pause(name, on=True))

    async def resume(self, name: str) -> bool:
        """Let it fire again, at its times from now on; returns whether it was paused."""
        return await self._network.do(self._pause(name, on=False))

    async def run(self, name: str) -> AsyncEnqueued:
        """Enqueue its job now, besides those of its times."""
        answer = await self._network.do(self._run(name))
        return AsyncEnqueued(answer.job_id, answer.status, answer.partition)

    async def remove(self, name: str) -> bool:
        """Forget a schedule; returns whether there was one."""
        return await self._network.do(self._remove(name))
