"""Which jobs a request is about, as the filter that servers are asked with."""

from __future__ import annotations

import re
from typing import Any

from coordinator.api.callers import cleaned
from coordinator.api.wording import text_of
from queuepool.client.pool import QueuePool
from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import key_text
from queuepool.models import JobState
from queuepool.models.finding import JobFilter
from queuepool.models.places import check_pool
from queuepool.rpc.jobs import state_of

_FINGERPRINT = re.compile(r".{1,60}-[0-9a-f]{6}")
_LONGEST = 300


def filter_of(pool: QueuePool, wanted: Any, state: JobState | None, *, newest: bool) -> JobFilter:
    """Return the filter of a FindJobsRequest or a JobFilter message. Raises InvalidInputError."""
    tenant, group = wanted.tenant or None, None
    if wanted.partition_key:
        group, tenant = pool.producer.route(text_of(wanted.partition_key), tenant).group, None
    error = wanted.fingerprint or None
    if error is not None and not _FINGERPRINT.fullmatch(error):
        raise InvalidInputError("fingerprint: pass one that ListErrors or FindJobs returned")
    return JobFilter(
        state=state,
        task=wanted.task or None,
        group=group,
        tenant=tenant,
        error=error,
        by_fingerprint=True,
        since_ms=_moment(wanted, "since_ms"),
        until_ms=_moment(wanted, "until_ms"),
        newest=newest,
    )


def places_of(pool: QueuePool, wanted: Any) -> dict[str, Any]:
    """Return where such a message lets look, as arguments of `walking.walk`.

    Raises InvalidInputError.
    """
    route = None
    if wanted.partition_key:
        route = pool.producer.route(text_of(wanted.partition_key), wanted.tenant or None)
    return {
        "partition": wanted.partition if wanted.HasField("partition") else None,
        "pool": check_pool(wanted.pool) if wanted.pool else None,
        "route": route,
    }


def asked_state(number: int) -> JobState | None:
    """Return the state that a request names; None for any. Raises InvalidInputError."""
    try:
        return state_of(number)
    except ValueError as error:
        raise InvalidInputError(str(error)) from None


def filter_text(wanted: Any) -> str:
    """Return a JobFilter message in words, for the log: `task=send since_ms=1`; `all` if empty."""
    said = [f"{field.name}={_shown(value)}" for field, value in wanted.ListFields()]
    return " ".join(said)[:_LONGEST] or "all"


def _shown(value: object) -> str:
    return cleaned(key_text(value) if isinstance(value, bytes) else str(value))


def _moment(wanted: Any, name: str) -> int | None:
    if not wanted.HasField(name):
        return None
    moment: int = getattr(wanted, name)
    if moment <= 0:
        raise InvalidInputError(f"{name}={moment}: use milliseconds since 1970")
    return moment
