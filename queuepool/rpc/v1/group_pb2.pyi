from queuepool.rpc.v1 import eta_pb2 as _eta_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TaskGroup(_message.Message):
    __slots__ = ("partition_key", "partition", "total", "ready", "delayed", "in_flight", "done", "dead", "cancelled", "created_ms", "finished_ms", "evicted", "discarded", "held_since_ms", "expired", "max_running", "serial", "weight", "parked", "tier", "eta")
    PARTITION_KEY_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    READY_FIELD_NUMBER: _ClassVar[int]
    DELAYED_FIELD_NUMBER: _ClassVar[int]
    IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    DEAD_FIELD_NUMBER: _ClassVar[int]
    CANCELLED_FIELD_NUMBER: _ClassVar[int]
    CREATED_MS_FIELD_NUMBER: _ClassVar[int]
    FINISHED_MS_FIELD_NUMBER: _ClassVar[int]
    EVICTED_FIELD_NUMBER: _ClassVar[int]
    DISCARDED_FIELD_NUMBER: _ClassVar[int]
    HELD_SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    EXPIRED_FIELD_NUMBER: _ClassVar[int]
    MAX_RUNNING_FIELD_NUMBER: _ClassVar[int]
    SERIAL_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    PARKED_FIELD_NUMBER: _ClassVar[int]
    TIER_FIELD_NUMBER: _ClassVar[int]
    ETA_FIELD_NUMBER: _ClassVar[int]
    partition_key: bytes
    partition: int
    total: int
    ready: int
    delayed: int
    in_flight: int
    done: int
    dead: int
    cancelled: int
    created_ms: int
    finished_ms: int
    evicted: int
    discarded: int
    held_since_ms: int
    expired: int
    max_running: int
    serial: bool
    weight: int
    parked: int
    tier: str
    eta: _eta_pb2.Eta
    def __init__(self, partition_key: _Optional[bytes] = ..., partition: _Optional[int] = ..., total: _Optional[int] = ..., ready: _Optional[int] = ..., delayed: _Optional[int] = ..., in_flight: _Optional[int] = ..., done: _Optional[int] = ..., dead: _Optional[int] = ..., cancelled: _Optional[int] = ..., created_ms: _Optional[int] = ..., finished_ms: _Optional[int] = ..., evicted: _Optional[int] = ..., discarded: _Optional[int] = ..., held_since_ms: _Optional[int] = ..., expired: _Optional[int] = ..., max_running: _Optional[int] = ..., serial: bool = ..., weight: _Optional[int] = ..., parked: _Optional[int] = ..., tier: _Optional[str] = ..., eta: _Optional[_Union[_eta_pb2.Eta, _Mapping]] = ...) -> None: ...
