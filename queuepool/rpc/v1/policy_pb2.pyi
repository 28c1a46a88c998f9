from queuepool.rpc.v1 import cluster_pb2 as _cluster_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ScalingRecord(_message.Message):
    __slots__ = ("version", "values", "by", "reason", "at_ms", "problem")
    class ValuesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    VERSION_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    version: int
    values: _containers.ScalarMap[str, str]
    by: str
    reason: str
    at_ms: int
    problem: str
    def __init__(self, version: _Optional[int] = ..., values: _Optional[_Mapping[str, str]] = ..., by: _Optional[str] = ..., reason: _Optional[str] = ..., at_ms: _Optional[int] = ..., problem: _Optional[str] = ...) -> None: ...

class InForce(_message.Message):
    __slots__ = ("policy", "policy_version", "mode", "profile", "limits", "budget", "open_windows", "record_version", "problem")
    POLICY_FIELD_NUMBER: _ClassVar[int]
    POLICY_VERSION_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    OPEN_WINDOWS_FIELD_NUMBER: _ClassVar[int]
    RECORD_VERSION_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    policy: str
    policy_version: int
    mode: str
    profile: str
    limits: _cluster_pb2.Limits
    budget: int
    open_windows: _containers.RepeatedScalarFieldContainer[str]
    record_version: int
    problem: str
    def __init__(self, policy: _Optional[str] = ..., policy_version: _Optional[int] = ..., mode: _Optional[str] = ..., profile: _Optional[str] = ..., limits: _Optional[_Union[_cluster_pb2.Limits, _Mapping]] = ..., budget: _Optional[int] = ..., open_windows: _Optional[_Iterable[str]] = ..., record_version: _Optional[int] = ..., problem: _Optional[str] = ...) -> None: ...
