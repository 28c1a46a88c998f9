from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ShadowSide(_message.Message):
    __slots__ = ("worker_s", "wait_mean_s", "wait_p50_s", "wait_p99_s", "changes")
    WORKER_S_FIELD_NUMBER: _ClassVar[int]
    WAIT_MEAN_S_FIELD_NUMBER: _ClassVar[int]
    WAIT_P50_S_FIELD_NUMBER: _ClassVar[int]
    WAIT_P99_S_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    worker_s: float
    wait_mean_s: float
    wait_p50_s: float
    wait_p99_s: float
    changes: int
    def __init__(self, worker_s: _Optional[float] = ..., wait_mean_s: _Optional[float] = ..., wait_p50_s: _Optional[float] = ..., wait_p99_s: _Optional[float] = ..., changes: _Optional[int] = ...) -> None: ...

class Shadow(_message.Message):
    __slots__ = ("candidate", "policy", "policy_version", "since_ms", "until_ms", "seconds", "jobs", "live_side", "candidate_side", "missed", "problem")
    CANDIDATE_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    POLICY_VERSION_FIELD_NUMBER: _ClassVar[int]
    SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    UNTIL_MS_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    LIVE_SIDE_FIELD_NUMBER: _ClassVar[int]
    CANDIDATE_SIDE_FIELD_NUMBER: _ClassVar[int]
    MISSED_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    candidate: str
    policy: str
    policy_version: int
    since_ms: int
    until_ms: int
    seconds: float
    jobs: float
    live_side: ShadowSide
    candidate_side: ShadowSide
    missed: int
    problem: str
    def __init__(self, candidate: _Optional[str] = ..., policy: _Optional[str] = ..., policy_version: _Optional[int] = ..., since_ms: _Optional[int] = ..., until_ms: _Optional[int] = ..., seconds: _Optional[float] = ..., jobs: _Optional[float] = ..., live_side: _Optional[_Union[ShadowSide, _Mapping]] = ..., candidate_side: _Optional[_Union[ShadowSide, _Mapping]] = ..., missed: _Optional[int] = ..., problem: _Optional[str] = ...) -> None: ...
