from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class JobState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    JOB_STATE_UNSPECIFIED: _ClassVar[JobState]
    JOB_STATE_READY: _ClassVar[JobState]
    JOB_STATE_PARKED: _ClassVar[JobState]
    JOB_STATE_DELAYED: _ClassVar[JobState]
    JOB_STATE_IN_FLIGHT: _ClassVar[JobState]
    JOB_STATE_DEAD: _ClassVar[JobState]

class GroupOrder(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    GROUP_ORDER_UNSPECIFIED: _ClassVar[GroupOrder]
    GROUP_ORDER_SIZE: _ClassVar[GroupOrder]
    GROUP_ORDER_AGE: _ClassVar[GroupOrder]
JOB_STATE_UNSPECIFIED: JobState
JOB_STATE_READY: JobState
JOB_STATE_PARKED: JobState
JOB_STATE_DELAYED: JobState
JOB_STATE_IN_FLIGHT: JobState
JOB_STATE_DEAD: JobState
GROUP_ORDER_UNSPECIFIED: GroupOrder
GROUP_ORDER_SIZE: GroupOrder
GROUP_ORDER_AGE: GroupOrder

class JobError(_message.Message):
    __slots__ = ("reason", "type", "fingerprint")
    REASON_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    reason: str
    type: str
    fingerprint: str
    def __init__(self, reason: _Optional[str] = ..., type: _Optional[str] = ..., fingerprint: _Optional[str] = ...) -> None: ...

class Job(_message.Message):
    __slots__ = ("job_id", "state", "partition", "pool", "task", "partition_key", "tenant", "enqueued_ms", "at_ms", "attempts", "crashes", "error")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    PARTITION_KEY_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    ENQUEUED_MS_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    CRASHES_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    state: JobState
    partition: int
    pool: str
    task: str
    partition_key: bytes
    tenant: str
    enqueued_ms: int
    at_ms: int
    attempts: int
    crashes: int
    error: JobError
    def __init__(self, job_id: _Optional[str] = ..., state: _Optional[_Union[JobState, str]] = ..., partition: _Optional[int] = ..., pool: _Optional[str] = ..., task: _Optional[str] = ..., partition_key: _Optional[bytes] = ..., tenant: _Optional[str] = ..., enqueued_ms: _Optional[int] = ..., at_ms: _Optional[int] = ..., attempts: _Optional[int] = ..., crashes: _Optional[int] = ..., error: _Optional[_Union[JobError, _Mapping]] = ...) -> None: ...

class JobFilter(_message.Message):
    __slots__ = ("task", "partition_key", "tenant", "fingerprint", "since_ms", "until_ms", "partition", "pool")
    TASK_FIELD_NUMBER: _ClassVar[int]
    PARTITION_KEY_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    UNTIL_MS_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    task: str
    partition_key: bytes
    tenant: str
    fingerprint: str
    since_ms: int
    until_ms: int
    partition: int
    pool: str
    def __init__(self, task: _Optional[str] = ..., partition_key: _Optional[bytes] = ..., tenant: _Optional[str] = ..., fingerprint: _Optional[str] = ..., since_ms: _Optional[int] = ..., until_ms: _Optional[int] = ..., partition: _Optional[int] = ..., pool: _Optional[str] = ...) -> None: ...

class RunningJob(_message.Message):
    __slots__ = ("job", "age_s", "usual_s", "slow")
    JOB_FIELD_NUMBER: _ClassVar[int]
    AGE_S_FIELD_NUMBER: _ClassVar[int]
    USUAL_S_FIELD_NUMBER: _ClassVar[int]
    SLOW_FIELD_NUMBER: _ClassVar[int]
    job: Job
    age_s: float
    usual_s: float
    slow: bool
    def __init__(self, job: _Optional[_Union[Job, _Mapping]] = ..., age_s: _Optional[float] = ..., usual_s: _Optional[float] = ..., slow: bool = ...) -> None: ...

class JobCount(_message.Message):
    __slots__ = ("name", "jobs")
    NAME_FIELD_NUMBER: _ClassVar[int]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    name: str
    jobs: int
    def __init__(self, name: _Optional[str] = ..., jobs: _Optional[int] = ...) -> None: ...

class DeadDigest(_message.Message):
    __slots__ = ("dead", "oldest_ms", "newest_ms", "tasks", "reasons", "errors", "exact")
    DEAD_FIELD_NUMBER: _ClassVar[int]
    OLDEST_MS_FIELD_NUMBER: _ClassVar[int]
    NEWEST_MS_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    REASONS_FIELD_NUMBER: _ClassVar[int]
    ERRORS_FIELD_NUMBER: _ClassVar[int]
    EXACT_FIELD_NUMBER: _ClassVar[int]
    dead: int
    oldest_ms: int
    newest_ms: int
    tasks: _containers.RepeatedCompositeFieldContainer[JobCount]
    reasons: _containers.RepeatedCompositeFieldContainer[JobCount]
    errors: _containers.RepeatedCompositeFieldContainer[ErrorCount]
    exact: bool
    def __init__(self, dead: _Optional[int] = ..., oldest_ms: _Optional[int] = ..., newest_ms: _Optional[int] = ..., tasks: _Optional[_Iterable[_Union[JobCount, _Mapping]]] = ..., reasons: _Optional[_Iterable[_Union[JobCount, _Mapping]]] = ..., errors: _Optional[_Iterable[_Union[ErrorCount, _Mapping]]] = ..., exact: bool = ...) -> None: ...

class JobChange(_message.Message):
    __slots__ = ("matched", "changed", "kept_out", "until_ms", "more")
    MATCHED_FIELD_NUMBER: _ClassVar[int]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    KEPT_OUT_FIELD_NUMBER: _ClassVar[int]
    UNTIL_MS_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    matched: int
    changed: int
    kept_out: _containers.RepeatedScalarFieldContainer[str]
    until_ms: int
    more: bool
    def __init__(self, matched: _Optional[int] = ..., changed: _Optional[int] = ..., kept_out: _Optional[_Iterable[str]] = ..., until_ms: _Optional[int] = ..., more: bool = ...) -> None: ...

class PastRun(_message.Message):
    __slots__ = ("job_id", "task", "attempt", "end", "ended_ms", "waited_s", "ran_s", "reason", "type")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    ENDED_MS_FIELD_NUMBER: _ClassVar[int]
    WAITED_S_FIELD_NUMBER: _ClassVar[int]
    RAN_S_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    task: str
    attempt: int
    end: str
    ended_ms: int
    waited_s: float
    ran_s: float
    reason: str
    type: str
    def __init__(self, job_id: _Optional[str] = ..., task: _Optional[str] = ..., attempt: _Optional[int] = ..., end: _Optional[str] = ..., ended_ms: _Optional[int] = ..., waited_s: _Optional[float] = ..., ran_s: _Optional[float] = ..., reason: _Optional[str] = ..., type: _Optional[str] = ...) -> None: ...

class ErrorCount(_message.Message):
    __slots__ = ("task", "error", "dead", "retrying", "first_ms", "last_ms", "example", "exact")
    TASK_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    DEAD_FIELD_NUMBER: _ClassVar[int]
    RETRYING_FIELD_NUMBER: _ClassVar[int]
    FIRST_MS_FIELD_NUMBER: _ClassVar[int]
    LAST_MS_FIELD_NUMBER: _ClassVar[int]
    EXAMPLE_FIELD_NUMBER: _ClassVar[int]
    EXACT_FIELD_NUMBER: _ClassVar[int]
    task: str
    error: JobError
    dead: int
    retrying: int
    first_ms: int
    last_ms: int
    example: str
    exact: bool
    def __init__(self, task: _Optional[str] = ..., error: _Optional[_Union[JobError, _Mapping]] = ..., dead: _Optional[int] = ..., retrying: _Optional[int] = ..., first_ms: _Optional[int] = ..., last_ms: _Optional[int] = ..., example: _Optional[str] = ..., exact: bool = ...) -> None: ...

class GroupLoad(_message.Message):
    __slots__ = ("partition_key", "tenant", "partition", "pool", "total", "left", "delayed", "parked", "dead", "created_ms", "held_since_ms")
    PARTITION_KEY_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    LEFT_FIELD_NUMBER: _ClassVar[int]
    DELAYED_FIELD_NUMBER: _ClassVar[int]
    PARKED_FIELD_NUMBER: _ClassVar[int]
    DEAD_FIELD_NUMBER: _ClassVar[int]
    CREATED_MS_FIELD_NUMBER: _ClassVar[int]
    HELD_SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    partition_key: bytes
    tenant: str
    partition: int
    pool: str
    total: int
    left: int
    delayed: int
    parked: int
    dead: int
    created_ms: int
    held_since_ms: int
    def __init__(self, partition_key: _Optional[bytes] = ..., tenant: _Optional[str] = ..., partition: _Optional[int] = ..., pool: _Optional[str] = ..., total: _Optional[int] = ..., left: _Optional[int] = ..., delayed: _Optional[int] = ..., parked: _Optional[int] = ..., dead: _Optional[int] = ..., created_ms: _Optional[int] = ..., held_since_ms: _Optional[int] = ...) -> None: ...
