from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class LogKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LOG_KIND_UNSPECIFIED: _ClassVar[LogKind]
    LOG_KIND_ACT: _ClassVar[LogKind]
    LOG_KIND_FINDING: _ClassVar[LogKind]
    LOG_KIND_LEADER: _ClassVar[LogKind]
    LOG_KIND_OWNER: _ClassVar[LogKind]
    LOG_KIND_SCALING: _ClassVar[LogKind]
LOG_KIND_UNSPECIFIED: LogKind
LOG_KIND_ACT: LogKind
LOG_KIND_FINDING: LogKind
LOG_KIND_LEADER: LogKind
LOG_KIND_OWNER: LogKind
LOG_KIND_SCALING: LogKind

class LogEntry(_message.Message):
    __slots__ = ("id", "at_ms", "kind", "what", "subject", "who", "via", "why", "outcome")
    ID_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    WHAT_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    WHO_FIELD_NUMBER: _ClassVar[int]
    VIA_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    id: str
    at_ms: int
    kind: LogKind
    what: str
    subject: str
    who: str
    via: str
    why: str
    outcome: str
    def __init__(self, id: _Optional[str] = ..., at_ms: _Optional[int] = ..., kind: _Optional[_Union[LogKind, str]] = ..., what: _Optional[str] = ..., subject: _Optional[str] = ..., who: _Optional[str] = ..., via: _Optional[str] = ..., why: _Optional[str] = ..., outcome: _Optional[str] = ...) -> None: ...
