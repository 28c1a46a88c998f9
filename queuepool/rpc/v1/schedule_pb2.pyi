from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ScheduleDefinition(_message.Message):
    __slots__ = ("task", "partition_key", "cron", "every_s", "timezone", "missed", "catch_up", "grace_s", "overlap", "tenant", "tier", "pool", "max_attempts", "timeout_s", "expires_s", "limits")
    TASK_FIELD_NUMBER: _ClassVar[int]
    PARTITION_KEY_FIELD_NUMBER: _ClassVar[int]
    CRON_FIELD_NUMBER: _ClassVar[int]
    EVERY_S_FIELD_NUMBER: _ClassVar[int]
    TIMEZONE_FIELD_NUMBER: _ClassVar[int]
    MISSED_FIELD_NUMBER: _ClassVar[int]
    CATCH_UP_FIELD_NUMBER: _ClassVar[int]
    GRACE_S_FIELD_NUMBER: _ClassVar[int]
    OVERLAP_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    TIER_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    MAX_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_S_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_S_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    task: str
    partition_key: str
    cron: str
    every_s: float
    timezone: str
    missed: str
    catch_up: int
    grace_s: float
    overlap: str
    tenant: str
    tier: str
    pool: str
    max_attempts: int
    timeout_s: float
    expires_s: float
    limits: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, task: _Optional[str] = ..., partition_key: _Optional[str] = ..., cron: _Optional[str] = ..., every_s: _Optional[float] = ..., timezone: _Optional[str] = ..., missed: _Optional[str] = ..., catch_up: _Optional[int] = ..., grace_s: _Optional[float] = ..., overlap: _Optional[str] = ..., tenant: _Optional[str] = ..., tier: _Optional[str] = ..., pool: _Optional[str] = ..., max_attempts: _Optional[int] = ..., timeout_s: _Optional[float] = ..., expires_s: _Optional[float] = ..., limits: _Optional[_Iterable[str]] = ...) -> None: ...

class Schedule(_message.Message):
    __slots__ = ("name", "definition", "problem", "since_ms", "paused_since_ms", "by", "next_ms", "fired", "missed", "overlapped", "last_due_ms")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    PAUSED_SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    NEXT_MS_FIELD_NUMBER: _ClassVar[int]
    FIRED_FIELD_NUMBER: _ClassVar[int]
    MISSED_FIELD_NUMBER: _ClassVar[int]
    OVERLAPPED_FIELD_NUMBER: _ClassVar[int]
    LAST_DUE_MS_FIELD_NUMBER: _ClassVar[int]
    name: str
    definition: ScheduleDefinition
    problem: str
    since_ms: int
    paused_since_ms: int
    by: str
    next_ms: _containers.RepeatedScalarFieldContainer[int]
    fired: int
    missed: int
    overlapped: int
    last_due_ms: int
    def __init__(self, name: _Optional[str] = ..., definition: _Optional[_Union[ScheduleDefinition, _Mapping]] = ..., problem: _Optional[str] = ..., since_ms: _Optional[int] = ..., paused_since_ms: _Optional[int] = ..., by: _Optional[str] = ..., next_ms: _Optional[_Iterable[int]] = ..., fired: _Optional[int] = ..., missed: _Optional[int] = ..., overlapped: _Optional[int] = ..., last_due_ms: _Optional[int] = ...) -> None: ...
