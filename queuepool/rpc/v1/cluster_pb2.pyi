from queuepool.rpc.v1 import eta_pb2 as _eta_pb2
from queuepool.rpc.v1 import partition_pb2 as _partition_pb2
from queuepool.rpc.v1 import shadow_pb2 as _shadow_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Leader(_message.Message):
    __slots__ = ("id", "epoch", "is_me", "address", "unknown")
    ID_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    IS_ME_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    id: str
    epoch: int
    is_me: bool
    address: str
    unknown: bool
    def __init__(self, id: _Optional[str] = ..., epoch: _Optional[int] = ..., is_me: bool = ..., address: _Optional[str] = ..., unknown: bool = ...) -> None: ...

class Limits(_message.Message):
    __slots__ = ("min_workers", "max_workers")
    MIN_WORKERS_FIELD_NUMBER: _ClassVar[int]
    MAX_WORKERS_FIELD_NUMBER: _ClassVar[int]
    min_workers: int
    max_workers: int
    def __init__(self, min_workers: _Optional[int] = ..., max_workers: _Optional[int] = ...) -> None: ...

class Server(_message.Message):
    __slots__ = ("name", "partitions", "reachable")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    REACHABLE_FIELD_NUMBER: _ClassVar[int]
    name: str
    partitions: int
    reachable: bool
    def __init__(self, name: _Optional[str] = ..., partitions: _Optional[int] = ..., reachable: bool = ...) -> None: ...

class Setting(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: str
    def __init__(self, name: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...

class Cluster(_message.Message):
    __slots__ = ("stage", "queue", "leader", "partition_count", "servers", "policy", "limits", "cycle_s", "totals", "backlog", "in_flight", "delayed", "dead", "workers", "version", "shadow", "eta", "settings")
    STAGE_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    LEADER_FIELD_NUMBER: _ClassVar[int]
    PARTITION_COUNT_FIELD_NUMBER: _ClassVar[int]
    SERVERS_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    CYCLE_S_FIELD_NUMBER: _ClassVar[int]
    TOTALS_FIELD_NUMBER: _ClassVar[int]
    BACKLOG_FIELD_NUMBER: _ClassVar[int]
    IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    DELAYED_FIELD_NUMBER: _ClassVar[int]
    DEAD_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SHADOW_FIELD_NUMBER: _ClassVar[int]
    ETA_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    stage: str
    queue: str
    leader: Leader
    partition_count: int
    servers: _containers.RepeatedCompositeFieldContainer[Server]
    policy: str
    limits: Limits
    cycle_s: float
    totals: _partition_pb2.Totals
    backlog: int
    in_flight: int
    delayed: int
    dead: int
    workers: _partition_pb2.Workers
    version: str
    shadow: _shadow_pb2.Shadow
    eta: _eta_pb2.Eta
    settings: _containers.RepeatedCompositeFieldContainer[Setting]
    def __init__(self, stage: _Optional[str] = ..., queue: _Optional[str] = ..., leader: _Optional[_Union[Leader, _Mapping]] = ..., partition_count: _Optional[int] = ..., servers: _Optional[_Iterable[_Union[Server, _Mapping]]] = ..., policy: _Optional[str] = ..., limits: _Optional[_Union[Limits, _Mapping]] = ..., cycle_s: _Optional[float] = ..., totals: _Optional[_Union[_partition_pb2.Totals, _Mapping]] = ..., backlog: _Optional[int] = ..., in_flight: _Optional[int] = ..., delayed: _Optional[int] = ..., dead: _Optional[int] = ..., workers: _Optional[_Union[_partition_pb2.Workers, _Mapping]] = ..., version: _Optional[str] = ..., shadow: _Optional[_Union[_shadow_pb2.Shadow, _Mapping]] = ..., eta: _Optional[_Union[_eta_pb2.Eta, _Mapping]] = ..., settings: _Optional[_Iterable[_Union[Setting, _Mapping]]] = ...) -> None: ...
