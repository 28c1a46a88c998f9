from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Severity(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SEVERITY_UNSPECIFIED: _ClassVar[Severity]
    SEVERITY_CRITICAL: _ClassVar[Severity]
    SEVERITY_WARNING: _ClassVar[Severity]
    SEVERITY_NOTICE: _ClassVar[Severity]
SEVERITY_UNSPECIFIED: Severity
SEVERITY_CRITICAL: Severity
SEVERITY_WARNING: Severity
SEVERITY_NOTICE: Severity

class Finding(_message.Message):
    __slots__ = ("kind", "severity", "subject", "since_ms", "what", "meaning", "remedy")
    KIND_FIELD_NUMBER: _ClassVar[int]
    SEVERITY_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    WHAT_FIELD_NUMBER: _ClassVar[int]
    MEANING_FIELD_NUMBER: _ClassVar[int]
    REMEDY_FIELD_NUMBER: _ClassVar[int]
    kind: str
    severity: Severity
    subject: str
    since_ms: int
    what: str
    meaning: str
    remedy: str
    def __init__(self, kind: _Optional[str] = ..., severity: _Optional[_Union[Severity, str]] = ..., subject: _Optional[str] = ..., since_ms: _Optional[int] = ..., what: _Optional[str] = ..., meaning: _Optional[str] = ..., remedy: _Optional[str] = ...) -> None: ...

class Unjudged(_message.Message):
    __slots__ = ("kind", "why")
    KIND_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    kind: str
    why: str
    def __init__(self, kind: _Optional[str] = ..., why: _Optional[str] = ...) -> None: ...

class Verdict(_message.Message):
    __slots__ = ("at_ms", "findings", "unjudged")
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    FINDINGS_FIELD_NUMBER: _ClassVar[int]
    UNJUDGED_FIELD_NUMBER: _ClassVar[int]
    at_ms: int
    findings: _containers.RepeatedCompositeFieldContainer[Finding]
    unjudged: _containers.RepeatedCompositeFieldContainer[Unjudged]
    def __init__(self, at_ms: _Optional[int] = ..., findings: _Optional[_Iterable[_Union[Finding, _Mapping]]] = ..., unjudged: _Optional[_Iterable[_Union[Unjudged, _Mapping]]] = ...) -> None: ...
