from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DecisionType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DECISION_TYPE_UNSPECIFIED: _ClassVar[DecisionType]
    DECISION_TYPE_SCALE_UP: _ClassVar[DecisionType]
    DECISION_TYPE_SCALE_DOWN: _ClassVar[DecisionType]
    DECISION_TYPE_HOLD: _ClassVar[DecisionType]
DECISION_TYPE_UNSPECIFIED: DecisionType
DECISION_TYPE_SCALE_UP: DecisionType
DECISION_TYPE_SCALE_DOWN: DecisionType
DECISION_TYPE_HOLD: DecisionType

class DecisionInputs(_message.Message):
    __slots__ = ("backlog", "workers", "busy", "pwqd", "finished_per_s", "in_flight", "reported", "finished_total")
    BACKLOG_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    BUSY_FIELD_NUMBER: _ClassVar[int]
    PWQD_FIELD_NUMBER: _ClassVar[int]
    FINISHED_PER_S_FIELD_NUMBER: _ClassVar[int]
    IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    REPORTED_FIELD_NUMBER: _ClassVar[int]
    FINISHED_TOTAL_FIELD_NUMBER: _ClassVar[int]
    backlog: int
    workers: int
    busy: int
    pwqd: float
    finished_per_s: float
    in_flight: int
    reported: int
    finished_total: int
    def __init__(self, backlog: _Optional[int] = ..., workers: _Optional[int] = ..., busy: _Optional[int] = ..., pwqd: _Optional[float] = ..., finished_per_s: _Optional[float] = ..., in_flight: _Optional[int] = ..., reported: _Optional[int] = ..., finished_total: _Optional[int] = ...) -> None: ...

class CountMove(_message.Message):
    __slots__ = ("name", "before", "after", "why")
    NAME_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    name: str
    before: int
    after: int
    why: str
    def __init__(self, name: _Optional[str] = ..., before: _Optional[int] = ..., after: _Optional[int] = ..., why: _Optional[str] = ...) -> None: ...

class DecisionOutcome(_message.Message):
    __slots__ = ("at_ms", "cycles", "workers", "busy", "backlog", "finished_per_s")
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    CYCLES_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    BUSY_FIELD_NUMBER: _ClassVar[int]
    BACKLOG_FIELD_NUMBER: _ClassVar[int]
    FINISHED_PER_S_FIELD_NUMBER: _ClassVar[int]
    at_ms: int
    cycles: int
    workers: int
    busy: int
    backlog: int
    finished_per_s: float
    def __init__(self, at_ms: _Optional[int] = ..., cycles: _Optional[int] = ..., workers: _Optional[int] = ..., busy: _Optional[int] = ..., backlog: _Optional[int] = ..., finished_per_s: _Optional[float] = ...) -> None: ...

class Decision(_message.Message):
    __slots__ = ("id", "at_ms", "partition", "cycle", "policy", "policy_version", "inputs", "previous_target", "target", "type", "reason", "clamps", "command_id", "leader_epoch", "moved", "figures", "record_version", "outcome", "alternative")
    class FiguresEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    CYCLE_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    POLICY_VERSION_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_TARGET_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    CLAMPS_FIELD_NUMBER: _ClassVar[int]
    COMMAND_ID_FIELD_NUMBER: _ClassVar[int]
    LEADER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    MOVED_FIELD_NUMBER: _ClassVar[int]
    FIGURES_FIELD_NUMBER: _ClassVar[int]
    RECORD_VERSION_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    ALTERNATIVE_FIELD_NUMBER: _ClassVar[int]
    id: str
    at_ms: int
    partition: int
    cycle: int
    policy: str
    policy_version: int
    inputs: DecisionInputs
    previous_target: int
    target: int
    type: DecisionType
    reason: str
    clamps: _containers.RepeatedScalarFieldContainer[str]
    command_id: str
    leader_epoch: int
    moved: _containers.RepeatedCompositeFieldContainer[CountMove]
    figures: _containers.ScalarMap[str, float]
    record_version: int
    outcome: DecisionOutcome
    alternative: int
    def __init__(self, id: _Optional[str] = ..., at_ms: _Optional[int] = ..., partition: _Optional[int] = ..., cycle: _Optional[int] = ..., policy: _Optional[str] = ..., policy_version: _Optional[int] = ..., inputs: _Optional[_Union[DecisionInputs, _Mapping]] = ..., previous_target: _Optional[int] = ..., target: _Optional[int] = ..., type: _Optional[_Union[DecisionType, str]] = ..., reason: _Optional[str] = ..., clamps: _Optional[_Iterable[str]] = ..., command_id: _Optional[str] = ..., leader_epoch: _Optional[int] = ..., moved: _Optional[_Iterable[_Union[CountMove, _Mapping]]] = ..., figures: _Optional[_Mapping[str, float]] = ..., record_version: _Optional[int] = ..., outcome: _Optional[_Union[DecisionOutcome, _Mapping]] = ..., alternative: _Optional[int] = ...) -> None: ...

class Explanation(_message.Message):
    __slots__ = ("decision", "sentences")
    DECISION_FIELD_NUMBER: _ClassVar[int]
    SENTENCES_FIELD_NUMBER: _ClassVar[int]
    decision: Decision
    sentences: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, decision: _Optional[_Union[Decision, _Mapping]] = ..., sentences: _Optional[_Iterable[str]] = ...) -> None: ...
