from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Advice(_message.Message):
    __slots__ = ("kind", "subject", "since_ms", "what", "effect", "command", "figures", "slots", "partition")
    class FiguresEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    KIND_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    WHAT_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    FIGURES_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    kind: str
    subject: str
    since_ms: int
    what: str
    effect: str
    command: str
    figures: _containers.ScalarMap[str, float]
    slots: _containers.RepeatedScalarFieldContainer[int]
    partition: int
    def __init__(self, kind: _Optional[str] = ..., subject: _Optional[str] = ..., since_ms: _Optional[int] = ..., what: _Optional[str] = ..., effect: _Optional[str] = ..., command: _Optional[str] = ..., figures: _Optional[_Mapping[str, float]] = ..., slots: _Optional[_Iterable[int]] = ..., partition: _Optional[int] = ...) -> None: ...

class GroupShare(_message.Message):
    __slots__ = ("slot", "group", "share")
    SLOT_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    SHARE_FIELD_NUMBER: _ClassVar[int]
    slot: int
    group: bytes
    share: float
    def __init__(self, slot: _Optional[int] = ..., group: _Optional[bytes] = ..., share: _Optional[float] = ...) -> None: ...

class PartitionLoad(_message.Message):
    __slots__ = ("partition", "server", "workers", "busy", "wanted", "came_per_s", "ended_per_s", "wait_s", "backlog", "bytes", "growth_per_s", "groups")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    SERVER_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    BUSY_FIELD_NUMBER: _ClassVar[int]
    WANTED_FIELD_NUMBER: _ClassVar[int]
    CAME_PER_S_FIELD_NUMBER: _ClassVar[int]
    ENDED_PER_S_FIELD_NUMBER: _ClassVar[int]
    WAIT_S_FIELD_NUMBER: _ClassVar[int]
    BACKLOG_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    GROWTH_PER_S_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    partition: int
    server: str
    workers: int
    busy: float
    wanted: float
    came_per_s: float
    ended_per_s: float
    wait_s: float
    backlog: int
    bytes: int
    growth_per_s: float
    groups: _containers.RepeatedCompositeFieldContainer[GroupShare]
    def __init__(self, partition: _Optional[int] = ..., server: _Optional[str] = ..., workers: _Optional[int] = ..., busy: _Optional[float] = ..., wanted: _Optional[float] = ..., came_per_s: _Optional[float] = ..., ended_per_s: _Optional[float] = ..., wait_s: _Optional[float] = ..., backlog: _Optional[int] = ..., bytes: _Optional[int] = ..., growth_per_s: _Optional[float] = ..., groups: _Optional[_Iterable[_Union[GroupShare, _Mapping]]] = ...) -> None: ...

class ServerLoad(_message.Message):
    __slots__ = ("name", "cpu", "calls_per_s", "used", "limit", "growth_per_s", "partitions")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CPU_FIELD_NUMBER: _ClassVar[int]
    CALLS_PER_S_FIELD_NUMBER: _ClassVar[int]
    USED_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    GROWTH_PER_S_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    name: str
    cpu: float
    calls_per_s: float
    used: int
    limit: int
    growth_per_s: float
    partitions: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, name: _Optional[str] = ..., cpu: _Optional[float] = ..., calls_per_s: _Optional[float] = ..., used: _Optional[int] = ..., limit: _Optional[int] = ..., growth_per_s: _Optional[float] = ..., partitions: _Optional[_Iterable[int]] = ...) -> None: ...
