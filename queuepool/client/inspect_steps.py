"""The steps of `pool.inspect`, which both pools execute."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, TypedDict

from queuepool.client import changing, editing, finding, walking
from queuepool.client.calls import AnyTask
from queuepool.client.effects import Steps
from queuepool.client.grouping import check_limit, find_groups
from queuepool.client.producer import Producer
from queuepool.client.routes import Route
from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown
from queuepool.models import JobState
from queuepool.models.finding import Changed, JobFilter
from queuepool.models.groups import GroupLoad
from queuepool.models.history import PastRun
from queuepool.models.places import check_pool
from queuepool.models.tenants import tenant_bytes
from queuepool.routing.finding import known_id
from queuepool.tasks.options import check_name, refuse_unknown

Moment = datetime | timedelta | None
_STATES = (JobState.READY, JobState.PARKED, JobState.DELAYED, JobState.IN_FLIGHT, JobState.DEAD)


class Where(TypedDict, total=False):
    """Which jobs. since, until: a datetime, or a timedelta: that long ago.

    task: its name, or the function. partition_key: with its tenant, if it has one. tenant without a
    key: all its jobs. error: a text in the reason, type or message, or a fingerprint of `errors`.
    """

    task: AnyTask | None
    partition_key: str | bytes | None
    tenant: str | None
    error: str | None
    since: Moment
    until: Moment
    newest: bool
    partition: int | None
    pool: str | None


class InspectSteps:
    """What both kinds share."""

    __slots__ = ("_network", "_producer")

    def __init__(self, network: Any, producer: Producer) -> None:
        self._network, self._producer = network, producer

    def _where(
        self, state: JobState | str | None, options: Any
    ) -> tuple[JobFilter, dict[str, Any]]:
        """Return the filter, and where to look: in which partition and pool, or for which group."""
        refuse_unknown("inspect", options, Where)
        key, tenant, task = (options.get(name) for name in ("partition_key", "tenant", "task"))
        route = None if key is None else self._producer.route(key, tenant)
        where = JobFilter(
            state=None if state is None else _state(state),
            task=None if task is None else check_name(self._producer.registry.name_of(task)),
            group=None if route is None else route.group,
            tenant=_tenant(tenant) if key is None else None,
            error=_error(options.get("error")),
            since_ms=moment_ms("since", options.get("since")),
            until_ms=moment_ms("until", options.get("until")),
            newest=_newest(options.get("newest", True)),
        )
        pool = _pool(options.get("pool"))
        return where, {"partition": options.get("partition"), "pool": pool, "route": route}

    def walk(self, state: JobState | str | None, options: Any) -> Steps[walking.Walk]:
        """Return the steps to a walk through the jobs that match, for `carry_out`."""
        where, places = self._where(state, options)
        return walking.walk(self._network.config, where, **places)

    def _count(self, state: JobState | str | None, options: Any) -> Steps[int]:
        where, places = self._where(state, options)
        return finding.count(self._network.config, where, **places)

    def _change(
        self, verb: Any, most: int | None, rate: float | None, dry_run: bool, options: Any
    ) -> Steps[Changed]:
        where, places = self._where(JobState.DEAD, {"newest": False} | options)
        return changing.change(
            self._network.config, where, verb, most=most, rate=rate, dry_run=dry_run, **places
        )

    def _run(self, job_id: str, key: str | bytes | None, tenant: str | None) -> Steps[JobState]:
        return editing.run_now(self._network.config, known_id(job_id), self._at(key, tenant))

    def _edit(
        self,
        job_id: str,
        payload: Mapping[str, Any],
        key: str | bytes | None,
        tenant: str | None,
    ) -> Steps[JobState]:
        config, at = self._network.config, self._at(key, tenant)
        return editing.edit(config, self._producer, known_id(job_id), payload, at)

    def _history(
        self, job_id: str, key: str | bytes | None, tenant: str | None, most: int
    ) -> Steps[list[PastRun]]:
        config, route = self._network.config, self._at(key, tenant)
        return finding.history(config, known_id(job_id), route=route, most=most)

    def _groups(
        self, order: object, limit: object, partition: int | None, pool: str | None
    ) -> Steps[list[GroupLoad]]:
        config, most = self._network.config, check_limit(limit)
        return find_groups(config, order=order, limit=most, partition=partition, pool=_pool(pool))

    def _at(self, key: str | bytes | None, tenant: str | None) -> Route | None:
        return None if key is None else self._producer.route(key, tenant)


def _state(state: object) -> JobState:
    for known in _STATES:
        if state == known:
            return known
    raise InvalidInputError(f"state={shown(state)}: use {', '.join(_STATES)}")


def _newest(newest: object) -> bool:
    if isinstance(newest, bool):
        return newest
    raise InvalidInputError(f"newest={shown(newest)}: use True or False")


def _tenant(name: str | None) -> str | None:
    return None if name is None else tenant_bytes(name).decode()


def _pool(name: str | None) -> str | None:
    return None if name is None else check_pool(name)


def _error(text: object) -> str | None:
    """Return what errors have to contain. An empty text, which all contain, is an oversight.

    Half of a surrogate pair is one, too: no stored text has it.
    """
    if text is None:
        return None
    if isinstance(text, str) and text and text == text.encode(errors="ignore").decode():
        return text
    raise InvalidInputError(
        f"error={shown(text)}: use a fingerprint, or a text that the error contains; None for any"
    )


def moment_ms(name: str, moment: object) -> int | None:
    """Return a moment that a caller named. Raises InvalidInputError."""
    if moment is None:
        return None
    if isinstance(moment, timedelta):
        return max(1, int((time.time() - moment.total_seconds()) * 1000))
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        return max(1, int(moment.timestamp() * 1000))
    raise InvalidInputError(
        f"{name}={shown(moment)}: use a timedelta (so long ago), or a datetime with a time zone"
    )
