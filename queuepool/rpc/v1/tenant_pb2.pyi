from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class Tenant(_message.Message):
    __slots__ = ("name", "ready", "in_flight", "groups", "done", "died", "cancelled", "expired", "held_since_ms", "max_running", "weight")
    NAME_FIELD_NUMBER: _ClassVar[int]
    READY_FIELD_NUMBER: _ClassVar[int]
    IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    DIED_FIELD_NUMBER: _ClassVar[int]
    CANCELLED_FIELD_NUMBER: _ClassVar[int]
    EXPIRED_FIELD_NUMBER: _ClassVar[int]
    HELD_SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    MAX_RUNNING_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    name: str
    ready: int
    in_flight: int
    groups: int
    done: int
    died: int
    cancelled: int
    expired: int
    held_since_ms: int
    max_running: int
    weight: int
    def __init__(self, name: _Optional[str] = ..., ready: _Optional[int] = ..., in_flight: _Optional[int] = ..., groups: _Optional[int] = ..., done: _Optional[int] = ..., died: _Optional[int] = ..., cancelled: _Optional[int] = ..., expired: _Optional[int] = ..., held_since_ms: _Optional[int] = ..., max_running: _Optional[int] = ..., weight: _Optional[int] = ...) -> None: ...
