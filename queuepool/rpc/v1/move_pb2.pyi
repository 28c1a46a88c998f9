from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class Move(_message.Message):
    __slots__ = ("stage", "before", "to", "reason", "asked_ms", "slots_moved", "slots", "slots_closed", "source", "dest")
    STAGE_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    ASKED_MS_FIELD_NUMBER: _ClassVar[int]
    SLOTS_MOVED_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    SLOTS_CLOSED_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    DEST_FIELD_NUMBER: _ClassVar[int]
    stage: str
    before: int
    to: int
    reason: str
    asked_ms: int
    slots_moved: int
    slots: int
    slots_closed: int
    source: int
    dest: int
    def __init__(self, stage: _Optional[str] = ..., before: _Optional[int] = ..., to: _Optional[int] = ..., reason: _Optional[str] = ..., asked_ms: _Optional[int] = ..., slots_moved: _Optional[int] = ..., slots: _Optional[int] = ..., slots_closed: _Optional[int] = ..., source: _Optional[int] = ..., dest: _Optional[int] = ...) -> None: ...
