from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class Eta(_message.Message):
    __slots__ = ("low_s", "likely_s", "high_s", "confidence")
    LOW_S_FIELD_NUMBER: _ClassVar[int]
    LIKELY_S_FIELD_NUMBER: _ClassVar[int]
    HIGH_S_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    low_s: float
    likely_s: float
    high_s: float
    confidence: float
    def __init__(self, low_s: _Optional[float] = ..., likely_s: _Optional[float] = ..., high_s: _Optional[float] = ..., confidence: _Optional[float] = ...) -> None: ...
