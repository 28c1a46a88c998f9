"""Where a view of the cluster comes from: a coordinator over gRPC, or the servers themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol

from queuepool.cli.display import output
from queuepool.cli.display.view import ClusterView, PartitionRow, row_of, with_rates
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.coordinators import connect, translated
from queuepool.cli.inspection.messages import eta_of_message
from queuepool.cli.inspection.pools import leader_of, open_pool
from queuepool.client.pool import QueuePool
from queuepool.errors import QueuePoolError, UnavailableError
from queuepool.models import Leader, PartitionState, TenantLoad
from queuepool.models.places import DEFAULT_POOL
from queuepool.partitions.partition import Partition
from queuepool.settings.endpoints import find_coordinator
from queuepool.verbs import Verb
from queuepool.verbs.operator import verbs as operate
from queuepool.verbs.producer import pools

if TYPE_CHECKING:
    from queuepool.rpc.client import QueuePoolClient

_BATCH = 200
SHOWN_TENANTS = 3


class Source(Protocol):
    """A source of views. look() raises UnavailableError or CommandError if there is none."""

    def look(self) -> ClusterView:
        """Return the cluster as it is now."""

    def tenants(self) -> list[TenantLoad]:
        """Return the tenants that have the most ready jobs."""


class ServerSource:
    """Observes every partition on its server: one round trip per server."""

    def __init__(self, pool: QueuePool) -> None:
        self._pool = pool
        self._having: dict[int, tuple[str, ...]] = {}  # partition -> its other pools
        self._before: dict[str, PartitionRow] = {}

    def look(self) -> ClusterView:
        """Return the cluster; rates are available from the second call."""
        leader = leader_of(self._pool)
        observed = self._observe(self._pool.partitions(), _until(leader))
        for pool in sorted({name for names in self._having.values() for name in names}):
            of_pool = leader_of(self._pool, pool)
            places = [
                self._pool.partition(n, pool) for n in self._having if pool in self._having[n]
            ]
            observed += self._observe(places, _until(of_pool))
        observed.sort(key=lambda row: row.partition)  # and by pool, as they came
        rows = with_rates(observed, self._before)
        self._before = {row.name: row for row in rows}
        leads = leader.lease_ms > 0
        return ClusterView(
            source="servers",
            leader=(leader.address or "yes") if leads else "",
            leader_epoch=leader.epoch,
            rows=rows,
        )

    def tenants(self) -> list[TenantLoad]:
        """Return the tenants that have the most ready jobs; none if a server is away."""
        with suppress(QueuePoolError):
            return self._pool.largest_tenants(SHOWN_TENANTS)
        return []

    def _observe(
        self, places: Sequence[Partition], manual_until: Mapping[int, int]
    ) -> list[PartitionRow]:
        rows: list[PartitionRow] = []
        for name, server in self._pool.servers.items():
            ours = [place for place in places if place.server is server]
            for start in range(0, len(ours), _BATCH):
                some = ours[start : start + _BATCH]
                calls = [(place.key, operate.observe(place.number)) for place in some]
                named = [place for place in some if place.pool == DEFAULT_POOL]
                looks = [(place.key, pools.look()) for place in named]
                try:
                    replies: list[Any] = server.run_many([*calls, *looks])
                except UnavailableError as error:
                    replies = [error] * (len(calls) + len(looks))
                for place, (_, look), reply in zip(
                    named, looks, replies[len(calls) :], strict=True
                ):
                    with suppress(QueuePoolError):
                        self._having[place.number] = look.read(reply)
                for place, (_, verb), reply in zip(some, calls, replies, strict=False):
                    rows.append(_row(place, name, verb, reply, manual_until.get(place.number)))
        return rows


def _row(
    place: Partition, server: str, verb: Verb[PartitionState], reply: Any, until_ms: int | None
) -> PartitionRow:
    try:
        return row_of(verb.read(reply), server, until_ms, place.pool)
    except QueuePoolError as error:
        return PartitionRow(
            partition=place.number, server=server, pool=place.pool, problem=str(error)
        )


def _until(leader: Leader) -> dict[int, int]:
    return {number: until_ms for number, (_, until_ms) in leader.manual.items()}


class CoordinatorSource:
    """Asks a coordinator."""

    def __init__(self, client: QueuePoolClient, address: str) -> None:
        self._client, self._address = client, address

    def tenants(self) -> list[TenantLoad]:
        """Return the tenants that have the most ready jobs; none from an earlier version."""
        import grpc

        from queuepool.rpc.v1 import queue_pool_pb2 as api

        try:
            answer = self._client.ListTenants(api.ListTenantsRequest(most=SHOWN_TENANTS))
        except grpc.RpcError:
            return []
        return [
            TenantLoad(
                one.name,
                one.ready,
                one.in_flight,
                one.held_since_ms if one.HasField("held_since_ms") else None,
            )
            for one in answer.tenants
        ]

    def look(self) -> ClusterView:
        """Return the cluster as the coordinator last saw it."""
        from queuepool.rpc.shadows import plain
        from queuepool.rpc.v1 import queue_pool_pb2 as api

        with translated(self._address):
            cluster = self._client.GetCluster(api.GetClusterRequest()).cluster
            rows, token = [], ""
            while True:
                page = self._client.ListPartitions(api.ListPartitionsRequest(page_token=token))
                rows += [_row_of_message(message) for message in page.partitions]
                token = page.next_page_token
                if not token:
                    break
        return ClusterView(
            source=f"coordinator {self._address}",
            leader=cluster.leader.id or cluster.leader.address,
            leader_known=not cluster.leader.unknown,
            leader_epoch=cluster.leader.epoch,
            rows=tuple(rows),
            shadow=plain(cluster.shadow) if cluster.HasField("shadow") else None,
        )


def _row_of_message(m: Any) -> PartitionRow:
    return PartitionRow(
        partition=m.partition,
        server=m.server,
        owner=(m.owner.id or m.owner.host) if m.HasField("owner") else "",
        epoch=m.owner.epoch,
        lease_ms=m.owner.lease_remaining_ms,
        backlog=m.backlog,
        delayed=m.delayed,
        in_flight=m.in_flight,
        dead=m.dead,
        workers=m.workers.running,
        target=m.workers.target,
        busy=m.workers.busy,
        oldest_s=m.oldest_waiting_ms / 1000,
        ended=m.totals.done + m.totals.retried + m.totals.died,
        observed_ms=m.observed_ms,
        per_s=m.throughput_per_s,
        manual_until_ms=m.manual_until_ms if m.HasField("manual_until_ms") else None,
        set_aside=m.set_aside,
        unknown_tasks=tuple(m.unknown_tasks),
        held=m.held,
        held_tasks=tuple(m.held_tasks),
        capped=m.capped,
        parked=m.parked,
        untold=m.untold,
        draining=m.draining,
        held_ms=m.held_since_ms if m.HasField("held_since_ms") else None,
        eta=eta_of_message(m),
        service_s=m.service_s,
        pool=m.pool or DEFAULT_POOL,
        problem=m.error or ("not observed recently" if m.stale else ""),
    )


@contextmanager
def open_source(given: str | None) -> Iterator[Source]:
    """Yield the coordinator if one is known and answers, else the servers themselves.

    An explicit address must answer: then nothing else is tried.
    """
    endpoint = find_coordinator(given)
    if endpoint is not None:
        address = endpoint.address
        with connect(endpoint) as client:
            source = CoordinatorSource(client, address)
            try:
                source.look()
            except CommandError as error:
                if given is not None or error.code is not Exit.UNAVAILABLE:
                    raise
                output.remark(f"no coordinator responds at {address}: asking the servers directly")
            else:
                yield source
                return
    with open_pool() as pool:
        yield ServerSource(pool)
