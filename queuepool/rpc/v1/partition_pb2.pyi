from queuepool.rpc.v1 import eta_pb2 as _eta_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Mode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MODE_UNSPECIFIED: _ClassVar[Mode]
    MODE_AUTOMATIC: _ClassVar[Mode]
    MODE_MANUAL: _ClassVar[Mode]
MODE_UNSPECIFIED: Mode
MODE_AUTOMATIC: Mode
MODE_MANUAL: Mode

class ReadyByTier(_message.Message):
    __slots__ = ("critical", "high", "default_tier", "low")
    CRITICAL_FIELD_NUMBER: _ClassVar[int]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_TIER_FIELD_NUMBER: _ClassVar[int]
    LOW_FIELD_NUMBER: _ClassVar[int]
    critical: int
    high: int
    default_tier: int
    low: int
    def __init__(self, critical: _Optional[int] = ..., high: _Optional[int] = ..., default_tier: _Optional[int] = ..., low: _Optional[int] = ...) -> None: ...

class Totals(_message.Message):
    __slots__ = ("enqueued", "done", "failed_attempts", "retried", "died", "cancelled", "duplicates", "recovered", "fenced")
    ENQUEUED_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    FAILED_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    RETRIED_FIELD_NUMBER: _ClassVar[int]
    DIED_FIELD_NUMBER: _ClassVar[int]
    CANCELLED_FIELD_NUMBER: _ClassVar[int]
    DUPLICATES_FIELD_NUMBER: _ClassVar[int]
    RECOVERED_FIELD_NUMBER: _ClassVar[int]
    FENCED_FIELD_NUMBER: _ClassVar[int]
    enqueued: int
    done: int
    failed_attempts: int
    retried: int
    died: int
    cancelled: int
    duplicates: int
    recovered: int
    fenced: int
    def __init__(self, enqueued: _Optional[int] = ..., done: _Optional[int] = ..., failed_attempts: _Optional[int] = ..., retried: _Optional[int] = ..., died: _Optional[int] = ..., cancelled: _Optional[int] = ..., duplicates: _Optional[int] = ..., recovered: _Optional[int] = ..., fenced: _Optional[int] = ...) -> None: ...

class Owner(_message.Message):
    __slots__ = ("id", "host", "epoch", "lease_remaining_ms", "version")
    ID_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    LEASE_REMAINING_MS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    id: str
    host: str
    epoch: int
    lease_remaining_ms: int
    version: str
    def __init__(self, id: _Optional[str] = ..., host: _Optional[str] = ..., epoch: _Optional[int] = ..., lease_remaining_ms: _Optional[int] = ..., version: _Optional[str] = ...) -> None: ...

class Workers(_message.Message):
    __slots__ = ("target", "running", "busy")
    TARGET_FIELD_NUMBER: _ClassVar[int]
    RUNNING_FIELD_NUMBER: _ClassVar[int]
    BUSY_FIELD_NUMBER: _ClassVar[int]
    target: int
    running: int
    busy: int
    def __init__(self, target: _Optional[int] = ..., running: _Optional[int] = ..., busy: _Optional[int] = ...) -> None: ...

class PartitionState(_message.Message):
    __slots__ = ("partition", "server", "owner", "ready", "delayed", "in_flight", "dead", "totals", "oldest_waiting_ms", "backlog", "pwqd", "workers", "throughput_per_s", "mode", "manual_until_ms", "observed_ms", "stale", "error", "set_aside", "unknown_tasks", "held", "held_since_ms", "capped", "parked", "eta", "service_s", "pool", "untold", "draining", "held_tasks")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    SERVER_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    READY_FIELD_NUMBER: _ClassVar[int]
    DELAYED_FIELD_NUMBER: _ClassVar[int]
    IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    DEAD_FIELD_NUMBER: _ClassVar[int]
    TOTALS_FIELD_NUMBER: _ClassVar[int]
    OLDEST_WAITING_MS_FIELD_NUMBER: _ClassVar[int]
    BACKLOG_FIELD_NUMBER: _ClassVar[int]
    PWQD_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    THROUGHPUT_PER_S_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    MANUAL_UNTIL_MS_FIELD_NUMBER: _ClassVar[int]
    OBSERVED_MS_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    SET_ASIDE_FIELD_NUMBER: _ClassVar[int]
    UNKNOWN_TASKS_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    HELD_SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    CAPPED_FIELD_NUMBER: _ClassVar[int]
    PARKED_FIELD_NUMBER: _ClassVar[int]
    ETA_FIELD_NUMBER: _ClassVar[int]
    SERVICE_S_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    UNTOLD_FIELD_NUMBER: _ClassVar[int]
    DRAINING_FIELD_NUMBER: _ClassVar[int]
    HELD_TASKS_FIELD_NUMBER: _ClassVar[int]
    partition: int
    server: str
    owner: Owner
    ready: ReadyByTier
    delayed: int
    in_flight: int
    dead: int
    totals: Totals
    oldest_waiting_ms: int
    backlog: int
    pwqd: float
    workers: Workers
    throughput_per_s: float
    mode: Mode
    manual_until_ms: int
    observed_ms: int
    stale: bool
    error: str
    set_aside: int
    unknown_tasks: _containers.RepeatedScalarFieldContainer[str]
    held: int
    held_since_ms: int
    capped: int
    parked: int
    eta: _eta_pb2.Eta
    service_s: float
    pool: str
    untold: int
    draining: int
    held_tasks: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, partition: _Optional[int] = ..., server: _Optional[str] = ..., owner: _Optional[_Union[Owner, _Mapping]] = ..., ready: _Optional[_Union[ReadyByTier, _Mapping]] = ..., delayed: _Optional[int] = ..., in_flight: _Optional[int] = ..., dead: _Optional[int] = ..., totals: _Optional[_Union[Totals, _Mapping]] = ..., oldest_waiting_ms: _Optional[int] = ..., backlog: _Optional[int] = ..., pwqd: _Optional[float] = ..., workers: _Optional[_Union[Workers, _Mapping]] = ..., throughput_per_s: _Optional[float] = ..., mode: _Optional[_Union[Mode, str]] = ..., manual_until_ms: _Optional[int] = ..., observed_ms: _Optional[int] = ..., stale: bool = ..., error: _Optional[str] = ..., set_aside: _Optional[int] = ..., unknown_tasks: _Optional[_Iterable[str]] = ..., held: _Optional[int] = ..., held_since_ms: _Optional[int] = ..., capped: _Optional[int] = ..., parked: _Optional[int] = ..., eta: _Optional[_Union[_eta_pb2.Eta, _Mapping]] = ..., service_s: _Optional[float] = ..., pool: _Optional[str] = ..., untold: _Optional[int] = ..., draining: _Optional[int] = ..., held_tasks: _Optional[_Iterable[str]] = ...) -> None: ...
