"""queuepool: partitioned background jobs for bulk work, on Redis or Valkey."""

from queuepool.client.after import After
from queuepool.client.async_pool import AsyncQueuePool
from queuepool.client.batch import AsyncBatch, Batch
from queuepool.client.flows.declared import Flow
from queuepool.client.flows.handle import AsyncFlowHandle, FlowHandle
from queuepool.client.group import JobDiedError, TaskGroup
from queuepool.client.handles import AsyncJobHandle, JobHandle
from queuepool.client.outbox import Outbox
from queuepool.client.pool import QueuePool
from queuepool.client.results import EnqueueResults
from queuepool.errors import (
    BadPayloadError,
    ConfigurationError,
    FencedError,
    InvalidInputError,
    JobCancelled,
    JobExpired,
    JobTimeoutError,
    LocalError,
    MovedError,
    NotConfirmedError,
    PayloadTooLargeError,
    PermanentError,
    QueueFullError,
    QueuePoolError,
    RateLimited,
    RetryLater,
    SealedError,
    UnavailableError,
    UnconfirmableError,
    UnknownTaskError,
    WaitTimeoutError,
)
from queuepool.models import (
    Durability,
    EnqueueStatus,
    Eta,
    GroupStatus,
    JobId,
    JobState,
    JobStatus,
    Limit,
    LimitStatus,
    Schedule,
    ScheduleStatus,
    Tier,
)
from queuepool.models import old_names as _old_names
from queuepool.models.flows import (
    BatchResult,
    BatchState,
    BatchStatus,
    EndOf,
    FlowState,
    FlowStatus,
    StepStatus,
)
from queuepool.models.release import __version__
from queuepool.models.runs import JobRun, RunEnd
from queuepool.settings.config import PoolConfig
from queuepool.tasks.backoff import Backoff
from queuepool.tasks.context import JobContext
from queuepool.tasks.job import AsyncEnqueued, Enqueued, Job
from queuepool.tasks.registry import Registry, Task, hooks, task
from queuepool.tasks.typed import TaskFunction
from queuepool.telemetry.running import JobLogFilter, job_fields

_old_names.keep(f"{__name__}.embedded", "queuepool.process.embedded")

__all__ = [
    "After",
    "AsyncBatch",
    "AsyncEnqueued",
    "AsyncFlowHandle",
    "AsyncJobHandle",
    "AsyncQueuePool",
    "Backoff",
    "BadPayloadError",
    "Batch",
    "BatchResult",
    "BatchState",
    "BatchStatus",
    "ConfigurationError",
    "Durability",
    "EndOf",
    "EnqueueResults",
    "EnqueueStatus",
    "Enqueued",
    "Eta",
    "FencedError",
    "Flow",
    "FlowHandle",
    "FlowState",
    "FlowStatus",
    "GroupStatus",
    "InvalidInputError",
    "Job",
    "JobCancelled",
    "JobContext",
    "JobDiedError",
    "JobExpired",
    "JobHandle",
    "JobId",
    "JobLogFilter",
    "JobRun",
    "JobState",
    "JobStatus",
    "JobTimeoutError",
    "Limit",
    "LimitStatus",
    "LocalError",
    "MovedError",
    "NotConfirmedError",
    "Outbox",
    "PayloadTooLargeError",
    "PermanentError",
    "PoolConfig",
    "QueueFullError",
    "QueuePool",
    "QueuePoolError",
    "RateLimited",
    "Registry",
    "RetryLater",
    "RunEnd",
    "Schedule",
    "ScheduleStatus",
    "SealedError",
    "StepStatus",
    "Task",
    "TaskFunction",
    "TaskGroup",
    "Tier",
    "UnavailableError",
    "UnconfirmableError",
    "UnknownTaskError",
    "WaitTimeoutError",
    "__version__",
    "hooks",
    "job_fields",
    "task",
]
