from queuepool.rpc.v1 import advice_pb2 as _advice_pb2
from queuepool.rpc.v1 import batch_pb2 as _batch_pb2
from queuepool.rpc.v1 import cluster_pb2 as _cluster_pb2
from queuepool.rpc.v1 import decision_pb2 as _decision_pb2
from queuepool.rpc.v1 import doctor_pb2 as _doctor_pb2
from queuepool.rpc.v1 import group_pb2 as _group_pb2
from queuepool.rpc.v1 import job_pb2 as _job_pb2
from queuepool.rpc.v1 import limit_pb2 as _limit_pb2
from queuepool.rpc.v1 import log_pb2 as _log_pb2
from queuepool.rpc.v1 import move_pb2 as _move_pb2
from queuepool.rpc.v1 import partition_pb2 as _partition_pb2
from queuepool.rpc.v1 import policy_pb2 as _policy_pb2
from queuepool.rpc.v1 import schedule_pb2 as _schedule_pb2
from queuepool.rpc.v1 import tenant_pb2 as _tenant_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetClusterRequest(_message.Message):
    __slots__ = ("pool",)
    POOL_FIELD_NUMBER: _ClassVar[int]
    pool: str
    def __init__(self, pool: _Optional[str] = ...) -> None: ...

class GetClusterResponse(_message.Message):
    __slots__ = ("cluster",)
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    cluster: _cluster_pb2.Cluster
    def __init__(self, cluster: _Optional[_Union[_cluster_pb2.Cluster, _Mapping]] = ...) -> None: ...

class DoctorRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DoctorResponse(_message.Message):
    __slots__ = ("verdict",)
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    verdict: _doctor_pb2.Verdict
    def __init__(self, verdict: _Optional[_Union[_doctor_pb2.Verdict, _Mapping]] = ...) -> None: ...

class AdviseRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AdviseResponse(_message.Message):
    __slots__ = ("at_ms", "over_s", "advice", "partitions", "servers", "spare", "silent")
    class SilentEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    OVER_S_FIELD_NUMBER: _ClassVar[int]
    ADVICE_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    SERVERS_FIELD_NUMBER: _ClassVar[int]
    SPARE_FIELD_NUMBER: _ClassVar[int]
    SILENT_FIELD_NUMBER: _ClassVar[int]
    at_ms: int
    over_s: float
    advice: _containers.RepeatedCompositeFieldContainer[_advice_pb2.Advice]
    partitions: _containers.RepeatedCompositeFieldContainer[_advice_pb2.PartitionLoad]
    servers: _containers.RepeatedCompositeFieldContainer[_advice_pb2.ServerLoad]
    spare: _containers.RepeatedScalarFieldContainer[str]
    silent: _containers.ScalarMap[str, str]
    def __init__(self, at_ms: _Optional[int] = ..., over_s: _Optional[float] = ..., advice: _Optional[_Iterable[_Union[_advice_pb2.Advice, _Mapping]]] = ..., partitions: _Optional[_Iterable[_Union[_advice_pb2.PartitionLoad, _Mapping]]] = ..., servers: _Optional[_Iterable[_Union[_advice_pb2.ServerLoad, _Mapping]]] = ..., spare: _Optional[_Iterable[str]] = ..., silent: _Optional[_Mapping[str, str]] = ...) -> None: ...

class LogRequest(_message.Message):
    __slots__ = ("since_ms", "until_ms", "kinds", "page_size")
    SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    UNTIL_MS_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    since_ms: int
    until_ms: int
    kinds: _containers.RepeatedScalarFieldContainer[_log_pb2.LogKind]
    page_size: int
    def __init__(self, since_ms: _Optional[int] = ..., until_ms: _Optional[int] = ..., kinds: _Optional[_Iterable[_Union[_log_pb2.LogKind, str]]] = ..., page_size: _Optional[int] = ...) -> None: ...

class LogResponse(_message.Message):
    __slots__ = ("entries",)
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[_log_pb2.LogEntry]
    def __init__(self, entries: _Optional[_Iterable[_Union[_log_pb2.LogEntry, _Mapping]]] = ...) -> None: ...

class ListPartitionsRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListPartitionsResponse(_message.Message):
    __slots__ = ("partitions", "next_page_token")
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    partitions: _containers.RepeatedCompositeFieldContainer[_partition_pb2.PartitionState]
    next_page_token: str
    def __init__(self, partitions: _Optional[_Iterable[_Union[_partition_pb2.PartitionState, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class GetPartitionRequest(_message.Message):
    __slots__ = ("partition", "pool")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    partition: int
    pool: str
    def __init__(self, partition: _Optional[int] = ..., pool: _Optional[str] = ...) -> None: ...

class GetPartitionResponse(_message.Message):
    __slots__ = ("partition",)
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    partition: _partition_pb2.PartitionState
    def __init__(self, partition: _Optional[_Union[_partition_pb2.PartitionState, _Mapping]] = ...) -> None: ...

class GetGroupRequest(_message.Message):
    __slots__ = ("partition_key", "watch_ms")
    PARTITION_KEY_FIELD_NUMBER: _ClassVar[int]
    WATCH_MS_FIELD_NUMBER: _ClassVar[int]
    partition_key: bytes
    watch_ms: int
    def __init__(self, partition_key: _Optional[bytes] = ..., watch_ms: _Optional[int] = ...) -> None: ...

class GetGroupResponse(_message.Message):
    __slots__ = ("group",)
    GROUP_FIELD_NUMBER: _ClassVar[int]
    group: _group_pb2.TaskGroup
    def __init__(self, group: _Optional[_Union[_group_pb2.TaskGroup, _Mapping]] = ...) -> None: ...

class GetTenantRequest(_message.Message):
    __slots__ = ("tenant",)
    TENANT_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    def __init__(self, tenant: _Optional[str] = ...) -> None: ...

class GetTenantResponse(_message.Message):
    __slots__ = ("tenant",)
    TENANT_FIELD_NUMBER: _ClassVar[int]
    tenant: _tenant_pb2.Tenant
    def __init__(self, tenant: _Optional[_Union[_tenant_pb2.Tenant, _Mapping]] = ...) -> None: ...

class ListTenantsRequest(_message.Message):
    __slots__ = ("most",)
    MOST_FIELD_NUMBER: _ClassVar[int]
    most: int
    def __init__(self, most: _Optional[int] = ...) -> None: ...

class ListTenantsResponse(_message.Message):
    __slots__ = ("tenants",)
    TENANTS_FIELD_NUMBER: _ClassVar[int]
    tenants: _containers.RepeatedCompositeFieldContainer[_tenant_pb2.Tenant]
    def __init__(self, tenants: _Optional[_Iterable[_Union[_tenant_pb2.Tenant, _Mapping]]] = ...) -> None: ...

class ListDecisionsRequest(_message.Message):
    __slots__ = ("partition", "page_size", "page_token", "pool")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    partition: int
    page_size: int
    page_token: str
    pool: str
    def __init__(self, partition: _Optional[int] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., pool: _Optional[str] = ...) -> None: ...

class ListDecisionsResponse(_message.Message):
    __slots__ = ("decisions", "next_page_token")
    DECISIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    decisions: _containers.RepeatedCompositeFieldContainer[_decision_pb2.Decision]
    next_page_token: str
    def __init__(self, decisions: _Optional[_Iterable[_Union[_decision_pb2.Decision, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ExplainRequest(_message.Message):
    __slots__ = ("partition", "at_ms", "pool")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    partition: int
    at_ms: int
    pool: str
    def __init__(self, partition: _Optional[int] = ..., at_ms: _Optional[int] = ..., pool: _Optional[str] = ...) -> None: ...

class ExplainResponse(_message.Message):
    __slots__ = ("explanations",)
    EXPLANATIONS_FIELD_NUMBER: _ClassVar[int]
    explanations: _containers.RepeatedCompositeFieldContainer[_decision_pb2.Explanation]
    def __init__(self, explanations: _Optional[_Iterable[_Union[_decision_pb2.Explanation, _Mapping]]] = ...) -> None: ...

class WatchPartitionsRequest(_message.Message):
    __slots__ = ("partitions", "min_interval_ms")
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    MIN_INTERVAL_MS_FIELD_NUMBER: _ClassVar[int]
    partitions: _containers.RepeatedScalarFieldContainer[int]
    min_interval_ms: int
    def __init__(self, partitions: _Optional[_Iterable[int]] = ..., min_interval_ms: _Optional[int] = ...) -> None: ...

class WatchPartitionsResponse(_message.Message):
    __slots__ = ("partitions",)
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    partitions: _containers.RepeatedCompositeFieldContainer[_partition_pb2.PartitionState]
    def __init__(self, partitions: _Optional[_Iterable[_Union[_partition_pb2.PartitionState, _Mapping]]] = ...) -> None: ...

class RecordRequest(_message.Message):
    __slots__ = ("pool",)
    POOL_FIELD_NUMBER: _ClassVar[int]
    pool: str
    def __init__(self, pool: _Optional[str] = ...) -> None: ...

class RecordResponse(_message.Message):
    __slots__ = ("lines", "cycles", "missed")
    LINES_FIELD_NUMBER: _ClassVar[int]
    CYCLES_FIELD_NUMBER: _ClassVar[int]
    MISSED_FIELD_NUMBER: _ClassVar[int]
    lines: bytes
    cycles: int
    missed: int
    def __init__(self, lines: _Optional[bytes] = ..., cycles: _Optional[int] = ..., missed: _Optional[int] = ...) -> None: ...

class SetWorkersRequest(_message.Message):
    __slots__ = ("partition", "workers", "ttl_s", "reason", "pool")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    TTL_S_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    partition: int
    workers: int
    ttl_s: float
    reason: str
    pool: str
    def __init__(self, partition: _Optional[int] = ..., workers: _Optional[int] = ..., ttl_s: _Optional[float] = ..., reason: _Optional[str] = ..., pool: _Optional[str] = ...) -> None: ...

class SetWorkersResponse(_message.Message):
    __slots__ = ("workers", "manual_until_ms")
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    MANUAL_UNTIL_MS_FIELD_NUMBER: _ClassVar[int]
    workers: int
    manual_until_ms: int
    def __init__(self, workers: _Optional[int] = ..., manual_until_ms: _Optional[int] = ...) -> None: ...

class ClearWorkersRequest(_message.Message):
    __slots__ = ("partition", "reason", "pool")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    partition: int
    reason: str
    pool: str
    def __init__(self, partition: _Optional[int] = ..., reason: _Optional[str] = ..., pool: _Optional[str] = ...) -> None: ...

class ClearWorkersResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class HoldRequest(_message.Message):
    __slots__ = ("partition_key", "partition", "all", "tenant", "task", "reason", "pool")
    PARTITION_KEY_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    ALL_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    partition_key: bytes
    partition: int
    all: bool
    tenant: str
    task: str
    reason: str
    pool: str
    def __init__(self, partition_key: _Optional[bytes] = ..., partition: _Optional[int] = ..., all: bool = ..., tenant: _Optional[str] = ..., task: _Optional[str] = ..., reason: _Optional[str] = ..., pool: _Optional[str] = ...) -> None: ...

class HoldResponse(_message.Message):
    __slots__ = ("changed",)
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    changed: int
    def __init__(self, changed: _Optional[int] = ...) -> None: ...

class ReleaseRequest(_message.Message):
    __slots__ = ("partition_key", "partition", "all", "tenant", "task", "reason", "pool")
    PARTITION_KEY_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    ALL_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    partition_key: bytes
    partition: int
    all: bool
    tenant: str
    task: str
    reason: str
    pool: str
    def __init__(self, partition_key: _Optional[bytes] = ..., partition: _Optional[int] = ..., all: bool = ..., tenant: _Optional[str] = ..., task: _Optional[str] = ..., reason: _Optional[str] = ..., pool: _Optional[str] = ...) -> None: ...

class ReleaseResponse(_message.Message):
    __slots__ = ("changed",)
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    changed: int
    def __init__(self, changed: _Optional[int] = ...) -> None: ...

class ConfigureGroupRequest(_message.Message):
    __slots__ = ("partition_key", "max_running", "serial", "weight", "reason", "create", "tier")
    PARTITION_KEY_FIELD_NUMBER: _ClassVar[int]
    MAX_RUNNING_FIELD_NUMBER: _ClassVar[int]
    SERIAL_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    CREATE_FIELD_NUMBER: _ClassVar[int]
    TIER_FIELD_NUMBER: _ClassVar[int]
    partition_key: bytes
    max_running: int
    serial: bool
    weight: int
    reason: str
    create: bool
    tier: str
    def __init__(self, partition_key: _Optional[bytes] = ..., max_running: _Optional[int] = ..., serial: bool = ..., weight: _Optional[int] = ..., reason: _Optional[str] = ..., create: bool = ..., tier: _Optional[str] = ...) -> None: ...

class ConfigureGroupResponse(_message.Message):
    __slots__ = ("changed",)
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    changed: bool
    def __init__(self, changed: bool = ...) -> None: ...

class ConfigureTenantRequest(_message.Message):
    __slots__ = ("tenant", "max_running", "weight", "reason")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    MAX_RUNNING_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    max_running: int
    weight: int
    reason: str
    def __init__(self, tenant: _Optional[str] = ..., max_running: _Optional[int] = ..., weight: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class ConfigureTenantResponse(_message.Message):
    __slots__ = ("changed",)
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    changed: bool
    def __init__(self, changed: bool = ...) -> None: ...

class ListLimitsRequest(_message.Message):
    __slots__ = ("name", "page_size", "page_token")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    name: str
    page_size: int
    page_token: str
    def __init__(self, name: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListLimitsResponse(_message.Message):
    __slots__ = ("limits", "next_page_token")
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    limits: _containers.RepeatedCompositeFieldContainer[_limit_pb2.Limit]
    next_page_token: str
    def __init__(self, limits: _Optional[_Iterable[_Union[_limit_pb2.Limit, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class SetLimitRequest(_message.Message):
    __slots__ = ("limit", "definition", "reason")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    limit: str
    definition: _limit_pb2.LimitDefinition
    reason: str
    def __init__(self, limit: _Optional[str] = ..., definition: _Optional[_Union[_limit_pb2.LimitDefinition, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class SetLimitResponse(_message.Message):
    __slots__ = ("changed",)
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    changed: bool
    def __init__(self, changed: bool = ...) -> None: ...

class PauseLimitRequest(_message.Message):
    __slots__ = ("limit", "paused", "reason")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    limit: str
    paused: bool
    reason: str
    def __init__(self, limit: _Optional[str] = ..., paused: bool = ..., reason: _Optional[str] = ...) -> None: ...

class PauseLimitResponse(_message.Message):
    __slots__ = ("changed",)
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    changed: bool
    def __init__(self, changed: bool = ...) -> None: ...

class RemoveLimitRequest(_message.Message):
    __slots__ = ("limit", "reason")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    limit: str
    reason: str
    def __init__(self, limit: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class RemoveLimitResponse(_message.Message):
    __slots__ = ("changed",)
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    changed: bool
    def __init__(self, changed: bool = ...) -> None: ...

class GetPolicyRequest(_message.Message):
    __slots__ = ("pool",)
    POOL_FIELD_NUMBER: _ClassVar[int]
    pool: str
    def __init__(self, pool: _Optional[str] = ...) -> None: ...

class GetPolicyResponse(_message.Message):
    __slots__ = ("record", "in_force")
    RECORD_FIELD_NUMBER: _ClassVar[int]
    IN_FORCE_FIELD_NUMBER: _ClassVar[int]
    record: _policy_pb2.ScalingRecord
    in_force: _policy_pb2.InForce
    def __init__(self, record: _Optional[_Union[_policy_pb2.ScalingRecord, _Mapping]] = ..., in_force: _Optional[_Union[_policy_pb2.InForce, _Mapping]] = ...) -> None: ...

class SetPolicyRequest(_message.Message):
    __slots__ = ("changes", "version", "replace", "reason", "pool")
    class ChangesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    REPLACE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    changes: _containers.ScalarMap[str, str]
    version: int
    replace: bool
    reason: str
    pool: str
    def __init__(self, changes: _Optional[_Mapping[str, str]] = ..., version: _Optional[int] = ..., replace: bool = ..., reason: _Optional[str] = ..., pool: _Optional[str] = ...) -> None: ...

class SetPolicyResponse(_message.Message):
    __slots__ = ("before", "after")
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    before: _policy_pb2.ScalingRecord
    after: _policy_pb2.ScalingRecord
    def __init__(self, before: _Optional[_Union[_policy_pb2.ScalingRecord, _Mapping]] = ..., after: _Optional[_Union[_policy_pb2.ScalingRecord, _Mapping]] = ...) -> None: ...

class ListGroupsRequest(_message.Message):
    __slots__ = ("order", "partition", "pool", "page_size", "page_token")
    ORDER_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    order: _job_pb2.GroupOrder
    partition: int
    pool: str
    page_size: int
    page_token: str
    def __init__(self, order: _Optional[_Union[_job_pb2.GroupOrder, str]] = ..., partition: _Optional[int] = ..., pool: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListGroupsResponse(_message.Message):
    __slots__ = ("groups", "next_page_token")
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    groups: _containers.RepeatedCompositeFieldContainer[_job_pb2.GroupLoad]
    next_page_token: str
    def __init__(self, groups: _Optional[_Iterable[_Union[_job_pb2.GroupLoad, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class FindJobsRequest(_message.Message):
    __slots__ = ("state", "task", "partition_key", "tenant", "fingerprint", "since_ms", "until_ms", "oldest_first", "partition", "pool", "page_size", "page_token")
    STATE_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    PARTITION_KEY_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    UNTIL_MS_FIELD_NUMBER: _ClassVar[int]
    OLDEST_FIRST_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    state: _job_pb2.JobState
    task: str
    partition_key: bytes
    tenant: str
    fingerprint: str
    since_ms: int
    until_ms: int
    oldest_first: bool
    partition: int
    pool: str
    page_size: int
    page_token: str
    def __init__(self, state: _Optional[_Union[_job_pb2.JobState, str]] = ..., task: _Optional[str] = ..., partition_key: _Optional[bytes] = ..., tenant: _Optional[str] = ..., fingerprint: _Optional[str] = ..., since_ms: _Optional[int] = ..., until_ms: _Optional[int] = ..., oldest_first: bool = ..., partition: _Optional[int] = ..., pool: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class FindJobsResponse(_message.Message):
    __slots__ = ("jobs", "next_page_token")
    JOBS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[_job_pb2.Job]
    next_page_token: str
    def __init__(self, jobs: _Optional[_Iterable[_Union[_job_pb2.Job, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class CountJobsRequest(_message.Message):
    __slots__ = ("state", "filter")
    STATE_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    state: _job_pb2.JobState
    filter: _job_pb2.JobFilter
    def __init__(self, state: _Optional[_Union[_job_pb2.JobState, str]] = ..., filter: _Optional[_Union[_job_pb2.JobFilter, _Mapping]] = ...) -> None: ...

class CountJobsResponse(_message.Message):
    __slots__ = ("jobs",)
    JOBS_FIELD_NUMBER: _ClassVar[int]
    jobs: int
    def __init__(self, jobs: _Optional[int] = ...) -> None: ...

class ListRunningRequest(_message.Message):
    __slots__ = ("partition", "page_size")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    partition: int
    page_size: int
    def __init__(self, partition: _Optional[int] = ..., page_size: _Optional[int] = ...) -> None: ...

class ListRunningResponse(_message.Message):
    __slots__ = ("jobs",)
    JOBS_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[_job_pb2.RunningJob]
    def __init__(self, jobs: _Optional[_Iterable[_Union[_job_pb2.RunningJob, _Mapping]]] = ...) -> None: ...

class GetDigestRequest(_message.Message):
    __slots__ = ("partition",)
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    partition: int
    def __init__(self, partition: _Optional[int] = ...) -> None: ...

class GetDigestResponse(_message.Message):
    __slots__ = ("digest",)
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    digest: _job_pb2.DeadDigest
    def __init__(self, digest: _Optional[_Union[_job_pb2.DeadDigest, _Mapping]] = ...) -> None: ...

class ReplayJobsRequest(_message.Message):
    __slots__ = ("filter", "most", "rate", "newest_first", "dry_run", "reason")
    FILTER_FIELD_NUMBER: _ClassVar[int]
    MOST_FIELD_NUMBER: _ClassVar[int]
    RATE_FIELD_NUMBER: _ClassVar[int]
    NEWEST_FIRST_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    filter: _job_pb2.JobFilter
    most: int
    rate: float
    newest_first: bool
    dry_run: bool
    reason: str
    def __init__(self, filter: _Optional[_Union[_job_pb2.JobFilter, _Mapping]] = ..., most: _Optional[int] = ..., rate: _Optional[float] = ..., newest_first: bool = ..., dry_run: bool = ..., reason: _Optional[str] = ...) -> None: ...

class ReplayJobsResponse(_message.Message):
    __slots__ = ("change",)
    CHANGE_FIELD_NUMBER: _ClassVar[int]
    change: _job_pb2.JobChange
    def __init__(self, change: _Optional[_Union[_job_pb2.JobChange, _Mapping]] = ...) -> None: ...

class DiscardJobsRequest(_message.Message):
    __slots__ = ("filter", "most", "rate", "newest_first", "dry_run", "reason")
    FILTER_FIELD_NUMBER: _ClassVar[int]
    MOST_FIELD_NUMBER: _ClassVar[int]
    RATE_FIELD_NUMBER: _ClassVar[int]
    NEWEST_FIRST_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    filter: _job_pb2.JobFilter
    most: int
    rate: float
    newest_first: bool
    dry_run: bool
    reason: str
    def __init__(self, filter: _Optional[_Union[_job_pb2.JobFilter, _Mapping]] = ..., most: _Optional[int] = ..., rate: _Optional[float] = ..., newest_first: bool = ..., dry_run: bool = ..., reason: _Optional[str] = ...) -> None: ...

class DiscardJobsResponse(_message.Message):
    __slots__ = ("change",)
    CHANGE_FIELD_NUMBER: _ClassVar[int]
    change: _job_pb2.JobChange
    def __init__(self, change: _Optional[_Union[_job_pb2.JobChange, _Mapping]] = ...) -> None: ...

class RunJobRequest(_message.Message):
    __slots__ = ("job_id", "partition_key", "tenant", "reason")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    PARTITION_KEY_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    partition_key: bytes
    tenant: str
    reason: str
    def __init__(self, job_id: _Optional[str] = ..., partition_key: _Optional[bytes] = ..., tenant: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class RunJobResponse(_message.Message):
    __slots__ = ("state",)
    STATE_FIELD_NUMBER: _ClassVar[int]
    state: _job_pb2.JobState
    def __init__(self, state: _Optional[_Union[_job_pb2.JobState, str]] = ...) -> None: ...

class EditJobRequest(_message.Message):
    __slots__ = ("job_id", "partition_key", "tenant", "payload", "reason")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    PARTITION_KEY_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    partition_key: bytes
    tenant: str
    payload: str
    reason: str
    def __init__(self, job_id: _Optional[str] = ..., partition_key: _Optional[bytes] = ..., tenant: _Optional[str] = ..., payload: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class EditJobResponse(_message.Message):
    __slots__ = ("state",)
    STATE_FIELD_NUMBER: _ClassVar[int]
    state: _job_pb2.JobState
    def __init__(self, state: _Optional[_Union[_job_pb2.JobState, str]] = ...) -> None: ...

class GetHistoryRequest(_message.Message):
    __slots__ = ("job_id", "partition_key", "tenant", "page_size")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    PARTITION_KEY_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    partition_key: bytes
    tenant: str
    page_size: int
    def __init__(self, job_id: _Optional[str] = ..., partition_key: _Optional[bytes] = ..., tenant: _Optional[str] = ..., page_size: _Optional[int] = ...) -> None: ...

class GetHistoryResponse(_message.Message):
    __slots__ = ("runs",)
    RUNS_FIELD_NUMBER: _ClassVar[int]
    runs: _containers.RepeatedCompositeFieldContainer[_job_pb2.PastRun]
    def __init__(self, runs: _Optional[_Iterable[_Union[_job_pb2.PastRun, _Mapping]]] = ...) -> None: ...

class ListErrorsRequest(_message.Message):
    __slots__ = ("partition", "page_size", "page_token")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    partition: int
    page_size: int
    page_token: str
    def __init__(self, partition: _Optional[int] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListErrorsResponse(_message.Message):
    __slots__ = ("errors", "next_page_token")
    ERRORS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    errors: _containers.RepeatedCompositeFieldContainer[_job_pb2.ErrorCount]
    next_page_token: str
    def __init__(self, errors: _Optional[_Iterable[_Union[_job_pb2.ErrorCount, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ListBatchesRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListBatchesResponse(_message.Message):
    __slots__ = ("batches", "next_page_token")
    BATCHES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    batches: _containers.RepeatedCompositeFieldContainer[_batch_pb2.Batch]
    next_page_token: str
    def __init__(self, batches: _Optional[_Iterable[_Union[_batch_pb2.Batch, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class GetBatchRequest(_message.Message):
    __slots__ = ("batch",)
    BATCH_FIELD_NUMBER: _ClassVar[int]
    batch: str
    def __init__(self, batch: _Optional[str] = ...) -> None: ...

class GetBatchResponse(_message.Message):
    __slots__ = ("batch", "steps")
    BATCH_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    batch: _batch_pb2.Batch
    steps: _containers.RepeatedCompositeFieldContainer[_batch_pb2.FlowStep]
    def __init__(self, batch: _Optional[_Union[_batch_pb2.Batch, _Mapping]] = ..., steps: _Optional[_Iterable[_Union[_batch_pb2.FlowStep, _Mapping]]] = ...) -> None: ...

class CancelBatchRequest(_message.Message):
    __slots__ = ("batch", "reason")
    BATCH_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    batch: str
    reason: str
    def __init__(self, batch: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class CancelBatchResponse(_message.Message):
    __slots__ = ("changed", "state")
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    changed: int
    state: str
    def __init__(self, changed: _Optional[int] = ..., state: _Optional[str] = ...) -> None: ...

class ListMovesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListMovesResponse(_message.Message):
    __slots__ = ("moves", "partitions", "version")
    MOVES_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    moves: _containers.RepeatedCompositeFieldContainer[_move_pb2.Move]
    partitions: int
    version: int
    def __init__(self, moves: _Optional[_Iterable[_Union[_move_pb2.Move, _Mapping]]] = ..., partitions: _Optional[int] = ..., version: _Optional[int] = ...) -> None: ...

class ListSchedulesRequest(_message.Message):
    __slots__ = ("name", "page_size", "page_token")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    name: str
    page_size: int
    page_token: str
    def __init__(self, name: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListSchedulesResponse(_message.Message):
    __slots__ = ("schedules", "next_page_token")
    SCHEDULES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    schedules: _containers.RepeatedCompositeFieldContainer[_schedule_pb2.Schedule]
    next_page_token: str
    def __init__(self, schedules: _Optional[_Iterable[_Union[_schedule_pb2.Schedule, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class SetScheduleRequest(_message.Message):
    __slots__ = ("schedule", "definition", "reason", "payload", "unique")
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    UNIQUE_FIELD_NUMBER: _ClassVar[int]
    schedule: str
    definition: _schedule_pb2.ScheduleDefinition
    reason: str
    payload: str
    unique: str
    def __init__(self, schedule: _Optional[str] = ..., definition: _Optional[_Union[_schedule_pb2.ScheduleDefinition, _Mapping]] = ..., reason: _Optional[str] = ..., payload: _Optional[str] = ..., unique: _Optional[str] = ...) -> None: ...

class SetScheduleResponse(_message.Message):
    __slots__ = ("changed",)
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    changed: bool
    def __init__(self, changed: bool = ...) -> None: ...

class PauseScheduleRequest(_message.Message):
    __slots__ = ("schedule", "paused", "reason")
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    schedule: str
    paused: bool
    reason: str
    def __init__(self, schedule: _Optional[str] = ..., paused: bool = ..., reason: _Optional[str] = ...) -> None: ...

class PauseScheduleResponse(_message.Message):
    __slots__ = ("changed",)
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    changed: bool
    def __init__(self, changed: bool = ...) -> None: ...

class RunScheduleRequest(_message.Message):
    __slots__ = ("schedule", "reason")
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    schedule: str
    reason: str
    def __init__(self, schedule: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class RunScheduleResponse(_message.Message):
    __slots__ = ("job_id", "changed")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    changed: bool
    def __init__(self, job_id: _Optional[str] = ..., changed: bool = ...) -> None: ...

class RemoveScheduleRequest(_message.Message):
    __slots__ = ("schedule", "reason")
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    schedule: str
    reason: str
    def __init__(self, schedule: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class RemoveScheduleResponse(_message.Message):
    __slots__ = ("changed",)
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    changed: bool
    def __init__(self, changed: bool = ...) -> None: ...
