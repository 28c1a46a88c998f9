"""The data types that cross module boundaries: frozen, without behaviour that needs I/O. Pure.

Times ending in `_ms` are milliseconds of the Redis server's clock since 1970; durations that
people set are floats in seconds and end in `_s`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from queuepool.models.cluster import (
    AuditReport as AuditReport,
)
from queuepool.models.cluster import (
    Command as Command,
)
from queuepool.models.cluster import (
    Leader as Leader,
)
from queuepool.models.cluster import (
    Owner as Owner,
)
from queuepool.models.cluster import (
    PartitionState as PartitionState,
)
from queuepool.models.cluster import (
    RouteRecord as RouteRecord,
)
from queuepool.models.cluster import (
    ScalingRecord as ScalingRecord,
)
from queuepool.models.eta import (
    Eta as Eta,
)
from queuepool.models.jobs import (
    DeadJob as DeadJob,
)
from queuepool.models.jobs import (
    Durability as Durability,
)
from queuepool.models.jobs import (
    EnqueueStatus as EnqueueStatus,
)
from queuepool.models.jobs import (
    ErrorRecord as ErrorRecord,
)
from queuepool.models.jobs import (
    GroupStatus as GroupStatus,
)
from queuepool.models.jobs import (
    JobId as JobId,
)
from queuepool.models.jobs import (
    JobState as JobState,
)
from queuepool.models.jobs import (
    JobStatus as JobStatus,
)
from queuepool.models.jobs import (
    Replayed as Replayed,
)
from queuepool.models.jobs import (
    Tier as Tier,
)
from queuepool.models.jobs import (
    group_text as group_text,
)
from queuepool.models.jobs import (
    in_words as in_words,
)
from queuepool.models.limits import (
    Limit as Limit,
)
from queuepool.models.limits import (
    LimitStatus as LimitStatus,
)
from queuepool.models.schedules import (
    Schedule as Schedule,
)
from queuepool.models.schedules import (
    ScheduleStatus as ScheduleStatus,
)
from queuepool.models.tenants import (
    TenantLoad as TenantLoad,
)
from queuepool.models.tenants import (
    TenantStatus as TenantStatus,
)


def __getattr__(name: str) -> Any:
    """Return names that moved elsewhere: Job and Enqueued, until 1.0."""
    if name in ("Enqueued", "Job"):
        return getattr(import_module("queuepool.tasks.job"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
