"""The operators' gRPC service: reads come from snapshots, so they cost the servers nothing.

Each call ends with a reply or with a status code and a readable sentence; an error that comes
unexpectedly is logged here and reported as INTERNAL without its details.
"""

from __future__ import annotations

import asyncio
import logging

import grpc

from coordinator.api import decisions, messages
from coordinator.api.calls import Context, abort, clamped, pool_of, with_status_codes
from coordinator.api.shadows import shadow
from coordinator.api.streams import StreamCalls
from coordinator.core.model import Snapshot
from queuepool import __version__
from queuepool.errors import InvalidInputError
from queuepool.models.places import DEFAULT_POOL, place_text
from queuepool.rpc.advice import response_of as response_of_advice
from queuepool.rpc.doctor import message_of as message_of_verdict
from queuepool.rpc.limits import message_of
from queuepool.rpc.log import kinds_of
from queuepool.rpc.log import message_of as message_of_entry
from queuepool.rpc.scaling import message_of as message_of_record
from queuepool.rpc.v1 import cluster_pb2
from queuepool.rpc.v1 import queue_pool_pb2 as api
from queuepool.verbs.log.verbs import read_log

_log = logging.getLogger("coordinator.status")


_MOST_WATCH_MS = 5_000  # of one group, on one of few threads
_FIRST_LOOKS, _FIRST_LOOK_S = 20, 0.1  # while the doctor of a new process begins


class StatusService(StreamCalls):
    """The service. Runs on one event loop; the store wakes its watchers from its own thread."""

    @with_status_codes
    async def GetCluster(  # noqa: N802 - the names, of calls and arguments, are the API's
        self, request: api.GetClusterRequest, context: Context
    ) -> api.GetClusterResponse:
        snapshot, info = await self._snapshot(context), self._info
        store, _, shadows = await self._followed(pool := pool_of(request))
        cluster = messages.cluster_counts(self._views(snapshot))
        led = snapshot if pool == DEFAULT_POOL else store.snapshot
        held = led.in_force
        cluster.MergeFrom(
            cluster_pb2.Cluster(
                stage=info.keyspace.stage,
                queue=info.keyspace.queue,
                leader=leader_message(led, self._id),
                partition_count=info.topology.partitions,
                policy=info.policy if held is None else held.policy,
                limits=decisions.limits(info.limits if held is None else held.rules.limits),
                cycle_s=info.cycle_s,
                version=__version__,
                settings=[cluster_pb2.Setting(name=n, value=v) for n, v in info.changed],
            )
        )
        for name, reached in snapshot.servers.items():
            count = info.topology.view.placement.count(name)
            cluster.servers.add(name=name, partitions=count, reachable=reached)
        if shadows.latest is not None:
            cluster.shadow.MergeFrom(shadow(shadows.latest))
        return api.GetClusterResponse(cluster=cluster)

    @with_status_codes
    async def ListPartitions(  # noqa: N802
        self, request: api.ListPartitionsRequest, context: Context
    ) -> api.ListPartitionsResponse:
        snapshot = await self._snapshot(context)
        token = request.page_token
        if token and not (token.isascii() and token.isdecimal() and len(token) <= 5):
            raise InvalidInputError(
                "page_token: pass the next_page_token of the previous page, unchanged"
            )
        begin = int(token or 0)
        end = begin + clamped(request.page_size)
        views = self._views(snapshot)
        return api.ListPartitionsResponse(
            partitions=[self._message(view) for view in views[begin:end]],
            next_page_token=str(end) if end < len(views) else "",
        )

    @with_status_codes
    async def GetPartition(  # noqa: N802
        self, request: api.GetPartitionRequest, context: Context
    ) -> api.GetPartitionResponse:
        await self._check_partition(request.partition, context)
        snapshot = await self._snapshot(context)
        pool = pool_of(request)
        found = (view for view in self._views(snapshot) if view.partition == request.partition)
        view = next((view for view in found if view.pool == pool), None)
        if view is None:
            await abort(
                context,
                grpc.StatusCode.NOT_FOUND,
                f"partition {request.partition} has no pool {pool}",
            )
        return api.GetPartitionResponse(partition=self._message(view))

    @with_status_codes
    async def GetGroup(  # noqa: N802
        self, request: api.GetGroupRequest, context: Context
    ) -> api.GetGroupResponse:
        key = request.partition_key
        number, status = await self._operators.off_loop(lambda: self._operators.group(key))
        if status.total == 0 and not status.has_settings:
            await abort(
                context,
                grpc.StatusCode.NOT_FOUND,
                "this group is unknown: nothing was enqueued under this key, or it ended so "
                "long ago that its totals were removed",
            )
        eta, over_s = None, min(request.watch_ms, _MOST_WATCH_MS) / 1000
        if over_s:
            eta = await self._operators.off_loop(lambda: self._operators.eta(key, over_s))
        return api.GetGroupResponse(group=messages.group(key, number, status, eta))

    @with_status_codes
    async def GetTenant(  # noqa: N802
        self,
        request: api.GetTenantRequest,
        context: Context,  # noqa: ARG002
    ) -> api.GetTenantResponse:
        name = request.tenant
        status = await self._operators.off_loop(lambda: self._operators.tenant(name))
        return api.GetTenantResponse(tenant=messages.tenant(name, status))

    @with_status_codes
    async def ListTenants(  # noqa: N802
        self,
        request: api.ListTenantsRequest,
        context: Context,  # noqa: ARG002
    ) -> api.ListTenantsResponse:
        most = min(request.most or 3, 20)
        found = await self._operators.off_loop(lambda: self._operators.largest_tenants(most))
        return api.ListTenantsResponse(tenants=[messages.tenant_load(one) for one in found])

    @with_status_codes
    async def ListDecisions(  # noqa: N802
        self, request: api.ListDecisionsRequest, context: Context
    ) -> api.ListDecisionsResponse:
        number = request.partition if request.HasField("partition") else None
        if number is not None:
            await self._check_partition(number, context)
        size, token = clamped(request.page_size), request.page_token
        pool = pool_of(request)
        found, following = await self._operators.off_loop(
            lambda: self._operators.scaling.decisions(token, size, number, pool)
        )
        return api.ListDecisionsResponse(
            decisions=[decisions.decision(record_id, record) for record_id, record in found],
            next_page_token=following,
        )

    @with_status_codes
    async def Explain(  # noqa: N802
        self, request: api.ExplainRequest, context: Context
    ) -> api.ExplainResponse:
        number = request.partition
        await self._check_partition(number, context)
        at_ms = request.at_ms if request.HasField("at_ms") else None
        pool = pool_of(request)
        found = await self._operators.off_loop(
            lambda: self._operators.scaling.why(number, at_ms, pool)
        )
        if not found:
            await abort(
                context,
                grpc.StatusCode.NOT_FOUND,
                f"no decision about partition {place_text(number, pool)} is recorded"
                + (" before that time" if at_ms is not None else " yet"),
            )
        answer = api.ExplainResponse(explanations=[decisions.explanation(*one) for one in found])
        if at_ms is None and found[0][0]:  # a stored one, which may be old
            answer.explanations[0].sentences.append(self._operators.scaling.seen_now(number, pool))
        return answer

    @with_status_codes
    async def ListLimits(  # noqa: N802
        self,
        request: api.ListLimitsRequest,
        context: Context,  # noqa: ARG002
    ) -> api.ListLimitsResponse:
        name, token, size = request.name, request.page_token, clamped(request.page_size)
        found, following = await self._operators.off_loop(
            lambda: self._operators.limits.page(name, token, size)
        )
        return api.ListLimitsResponse(
            limits=[message_of(status) for status in found], next_page_token=following
        )

    @with_status_codes
    async def GetPolicy(  # noqa: N802
        self,
        request: api.GetPolicyRequest,
        context: Context,  # noqa: ARG002
    ) -> api.GetPolicyResponse:
        pool = pool_of(request)
        record = await self._operators.off_loop(lambda: self._operators.scaling.policy(pool))
        held = self._operators.scaling.in_force(pool)
        return api.GetPolicyResponse(
            record=message_of_record(record),
            in_force=None if held is None else decisions.in_force(held),
        )

    @with_status_codes
    async def Doctor(  # noqa: N802
        self,
        request: api.DoctorRequest,  # noqa: ARG002
        context: Context,
    ) -> api.DoctorResponse:
        await self._looked(context)
        verdict = self._verdicts.latest
        return api.DoctorResponse(verdict=None if verdict is None else message_of_verdict(verdict))

    @with_status_codes
    async def Advise(  # noqa: N802
        self,
        request: api.AdviseRequest,  # noqa: ARG002
        context: Context,
    ) -> api.AdviseResponse:
        await self._looked(context)
        advised = self._verdicts.advised
        return api.AdviseResponse() if advised is None else response_of_advice(advised)

    async def _looked(self, context: Context) -> None:
        """Wait for the first look at the whole queue."""
        for _ in range(_FIRST_LOOKS):
            if self._verdicts.latest is not None:
                return
            await asyncio.sleep(_FIRST_LOOK_S)
        await abort(
            context, grpc.StatusCode.UNAVAILABLE, "the first observation is in progress; call again"
        )

    @with_status_codes
    async def Log(  # noqa: N802
        self,
        request: api.LogRequest,
        context: Context,  # noqa: ARG002
    ) -> api.LogResponse:
        kinds, size = kinds_of(request.kinds), clamped(request.page_size)
        if request.kinds and not kinds:
            return api.LogResponse()
        until_ms = request.until_ms if request.HasField("until_ms") else None
        verb = read_log(kinds, from_ms=request.since_ms, until_ms=until_ms, most=size)
        found = await self._operators.off_loop(lambda: self._operators.ask_system(verb))
        return api.LogResponse(entries=map(message_of_entry, found))

    async def _snapshot(self, context: Context) -> Snapshot:
        snapshot = self._store.snapshot
        if not snapshot.cycle:
            await abort(
                context,
                grpc.StatusCode.UNAVAILABLE,
                "the first observation is in progress; call again",
            )
        return snapshot


def leader_message(snapshot: Snapshot, me: str) -> cluster_pb2.Leader:
    """Return who leads, as far as a snapshot of this process knows. me: its name."""
    address, epoch = snapshot.leader_address, snapshot.leader_epoch
    if snapshot.leading:
        return cluster_pb2.Leader(id=me, epoch=epoch, is_me=True, address=address)
    if not snapshot.leader_known or snapshot.leader_lease_ms <= 0:
        return cluster_pb2.Leader(unknown=not snapshot.leader_known)
    return cluster_pb2.Leader(id=address or "unnamed", epoch=epoch, address=address)
