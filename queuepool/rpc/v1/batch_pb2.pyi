from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class Batch(_message.Message):
    __slots__ = ("name", "state", "called", "total", "done", "dead", "lost", "deadline_ms", "created_ms", "ended_ms", "job_id", "on_failure", "on_deadline", "sealed", "by_deadline", "within", "inner")
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    CALLED_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    DEAD_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_MS_FIELD_NUMBER: _ClassVar[int]
    CREATED_MS_FIELD_NUMBER: _ClassVar[int]
    ENDED_MS_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    ON_FAILURE_FIELD_NUMBER: _ClassVar[int]
    ON_DEADLINE_FIELD_NUMBER: _ClassVar[int]
    SEALED_FIELD_NUMBER: _ClassVar[int]
    BY_DEADLINE_FIELD_NUMBER: _ClassVar[int]
    WITHIN_FIELD_NUMBER: _ClassVar[int]
    INNER_FIELD_NUMBER: _ClassVar[int]
    name: str
    state: str
    called: str
    total: int
    done: int
    dead: int
    lost: int
    deadline_ms: int
    created_ms: int
    ended_ms: int
    job_id: str
    on_failure: str
    on_deadline: str
    sealed: bool
    by_deadline: bool
    within: str
    inner: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., state: _Optional[str] = ..., called: _Optional[str] = ..., total: _Optional[int] = ..., done: _Optional[int] = ..., dead: _Optional[int] = ..., lost: _Optional[int] = ..., deadline_ms: _Optional[int] = ..., created_ms: _Optional[int] = ..., ended_ms: _Optional[int] = ..., job_id: _Optional[str] = ..., on_failure: _Optional[str] = ..., on_deadline: _Optional[str] = ..., sealed: bool = ..., by_deadline: bool = ..., within: _Optional[str] = ..., inner: _Optional[_Iterable[str]] = ...) -> None: ...

class FlowStep(_message.Message):
    __slots__ = ("name", "task", "state", "after", "total", "done", "dead", "lost", "batch", "deadline_ms")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    DEAD_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    BATCH_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_MS_FIELD_NUMBER: _ClassVar[int]
    name: str
    task: str
    state: str
    after: _containers.RepeatedScalarFieldContainer[str]
    total: int
    done: int
    dead: int
    lost: int
    batch: str
    deadline_ms: int
    def __init__(self, name: _Optional[str] = ..., task: _Optional[str] = ..., state: _Optional[str] = ..., after: _Optional[_Iterable[str]] = ..., total: _Optional[int] = ..., done: _Optional[int] = ..., dead: _Optional[int] = ..., lost: _Optional[int] = ..., batch: _Optional[str] = ..., deadline_ms: _Optional[int] = ...) -> None: ...
