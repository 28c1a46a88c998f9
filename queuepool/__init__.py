"""queuepool: partitioned background jobs for bulk work, on Redis or Valkey."""

from queuepool.aio import AsyncQueuePool
from queuepool.backoff import Backoff
from queuepool.config import PoolConfig
from queuepool.errors import (
    ConfigurationError,
    FencedError,
    InvalidInputError,
    JobCancelled,
    JobTimeoutError,
    LocalError,
    NotConfirmedError,
    PayloadTooLargeError,
    PermanentError,
    QueueFullError,
    QueuePoolError,
    RetryLater,
    UnavailableError,
    UnconfirmableError,
    UnknownTaskError,
    WaitTimeoutError,
)
from queuepool.group import JobDiedError, TaskGroup
from queuepool.models import (
    Durability,
    Enqueued,
    EnqueueStatus,
    GroupStatus,
    Job,
    JobId,
    JobState,
    JobStatus,
    Tier,
)
from queuepool.pool import QueuePool
from queuepool.results import EnqueueResults
from queuepool.tasks import JobContext, Registry, Task, task

__version__ = "0.1.0"

__all__ = [
    "AsyncQueuePool",
    "Backoff",
    "ConfigurationError",
    "Durability",
    "EnqueueResults",
    "EnqueueStatus",
    "Enqueued",
    "FencedError",
    "GroupStatus",
    "InvalidInputError",
    "Job",
    "JobCancelled",
    "JobContext",
    "JobDiedError",
    "JobId",
    "JobState",
    "JobStatus",
    "JobTimeoutError",
    "LocalError",
    "NotConfirmedError",
    "PayloadTooLargeError",
    "PermanentError",
    "PoolConfig",
    "QueueFullError",
    "QueuePool",
    "QueuePoolError",
    "Registry",
    "RetryLater",
    "Task",
    "TaskGroup",
    "Tier",
    "UnavailableError",
    "UnconfirmableError",
    "UnknownTaskError",
    "WaitTimeoutError",
    "__version__",
    "task",
]
