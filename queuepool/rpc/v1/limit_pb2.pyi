from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class LimitDefinition(_message.Message):
    __slots__ = ("rate", "per_s", "burst", "concurrency", "adaptive", "least", "most")
    RATE_FIELD_NUMBER: _ClassVar[int]
    PER_S_FIELD_NUMBER: _ClassVar[int]
    BURST_FIELD_NUMBER: _ClassVar[int]
    CONCURRENCY_FIELD_NUMBER: _ClassVar[int]
    ADAPTIVE_FIELD_NUMBER: _ClassVar[int]
    LEAST_FIELD_NUMBER: _ClassVar[int]
    MOST_FIELD_NUMBER: _ClassVar[int]
    rate: int
    per_s: float
    burst: int
    concurrency: int
    adaptive: bool
    least: int
    most: int
    def __init__(self, rate: _Optional[int] = ..., per_s: _Optional[float] = ..., burst: _Optional[int] = ..., concurrency: _Optional[int] = ..., adaptive: bool = ..., least: _Optional[int] = ..., most: _Optional[int] = ...) -> None: ...

class Limit(_message.Message):
    __slots__ = ("name", "set", "declared", "paused_since_ms", "pace", "granted", "granted_last_s", "wait_ms", "refused_ms", "running", "waiting", "askers", "parked", "parked_known", "unused")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SET_FIELD_NUMBER: _ClassVar[int]
    DECLARED_FIELD_NUMBER: _ClassVar[int]
    PAUSED_SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    PACE_FIELD_NUMBER: _ClassVar[int]
    GRANTED_FIELD_NUMBER: _ClassVar[int]
    GRANTED_LAST_S_FIELD_NUMBER: _ClassVar[int]
    WAIT_MS_FIELD_NUMBER: _ClassVar[int]
    REFUSED_MS_FIELD_NUMBER: _ClassVar[int]
    RUNNING_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    ASKERS_FIELD_NUMBER: _ClassVar[int]
    PARKED_FIELD_NUMBER: _ClassVar[int]
    PARKED_KNOWN_FIELD_NUMBER: _ClassVar[int]
    UNUSED_FIELD_NUMBER: _ClassVar[int]
    name: str
    set: LimitDefinition
    declared: LimitDefinition
    paused_since_ms: int
    pace: float
    granted: int
    granted_last_s: int
    wait_ms: int
    refused_ms: int
    running: int
    waiting: int
    askers: int
    parked: int
    parked_known: bool
    unused: bool
    def __init__(self, name: _Optional[str] = ..., set: _Optional[_Union[LimitDefinition, _Mapping]] = ..., declared: _Optional[_Union[LimitDefinition, _Mapping]] = ..., paused_since_ms: _Optional[int] = ..., pace: _Optional[float] = ..., granted: _Optional[int] = ..., granted_last_s: _Optional[int] = ..., wait_ms: _Optional[int] = ..., refused_ms: _Optional[int] = ..., running: _Optional[int] = ..., waiting: _Optional[int] = ..., askers: _Optional[int] = ..., parked: _Optional[int] = ..., parked_known: bool = ..., unused: bool = ...) -> None: ...
