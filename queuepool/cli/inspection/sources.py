"""Where a view of the cluster comes from: a coordinator over gRPC, or the servers themselves."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from queuepool.cli.display import output
from queuepool.cli.display.view import ClusterView, PartitionRow, row_of, with_rates
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.pools import open_pool
from queuepool.client.pool import QueuePool
from queuepool.errors import ConfigurationError, QueuePoolError, UnavailableError
from queuepool.models import Eta, GroupStatus, Leader, PartitionState, TenantLoad, TenantStatus
from queuepool.models.places import DEFAULT_POOL
from queuepool.partitions.partition import Partition
from queuepool.settings import local_cluster as local
from queuepool.verbs import Verb
from queuepool.verbs.leader import verbs as lead
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
        server, key = self._pool.system
        verb = lead.lead("", lease_ms=0, address="")
        leader = verb.read(server.run(key, [verb])[0])
        observed = self._observe(self._pool.partitions(), _until(leader))
        for pool in sorted({name for names in self._having.values() for name in names}):
            server, key = self._pool.system_of(pool)
            of_pool = verb.read(server.run(key, [verb])[0])
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
        capped=m.capped,
        parked=m.parked,
        held_ms=m.held_since_ms if m.HasField("held_since_ms") else None,
        eta=eta_of_message(m),
        service_s=m.service_s,
        pool=m.pool or DEFAULT_POOL,
        problem=m.error or ("not observed for a while" if m.stale else ""),
    )


def eta_of_message(m: Any) -> Eta | None:
    """Return when the jobs of a message will have ended, None if it does not say."""
    if not m.HasField("eta"):
        return None
    names = ("low_s", "likely_s", "high_s", "confidence")
    return Eta(**{name: getattr(m.eta, name) for name in names})


def group_of_message(m: Any) -> GroupStatus:
    """Return the totals of a group as a coordinator sent them."""
    names = ("total", "ready", "delayed", "in_flight", "done", "dead", "cancelled", "evicted")
    found = {
        name: getattr(m, name)
        for name in (*names, "discarded", "expired", "serial", "weight", "parked")
    }
    for name in ("created_ms", "finished_ms", "max_running"):
        found[name] = getattr(m, name) if m.HasField(name) else None
    found["held_ms"] = m.held_since_ms if m.HasField("held_since_ms") else None
    return GroupStatus(**found)


def tenant_of_message(m: Any) -> TenantStatus:
    """Return what a tenant has as a coordinator sent it."""
    names = ("ready", "groups", "done", "died", "cancelled", "expired", "weight")
    return TenantStatus(
        **{name: getattr(m, name) for name in names},
        running=m.in_flight,
        held_ms=m.held_since_ms if m.HasField("held_since_ms") else None,
        max_running=m.max_running if m.HasField("max_running") else None,
    )


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A coordinator: its HOST:PORT, and the token that is meant only for it."""

    address: str
    token: str | None = field(repr=False)


def find_coordinator(given: str | None) -> Endpoint | None:
    """Return the coordinator: the given one, that of QUEUEPOOL_GRPC, or of the local cluster.

    The local cluster is ignored if QUEUEPOOL_URL or _SERVERS name another one. The token of
    QUEUEPOOL_GRPC_TOKEN goes only to an address that the user named: the state file has its own.
    """
    address = given or os.environ.get("QUEUEPOOL_GRPC")
    if not address:
        if os.environ.get("QUEUEPOOL_URL") or os.environ.get("QUEUEPOOL_SERVERS"):
            return None
        return _here(local.read())
    here = None
    with suppress(ConfigurationError):  # of a different cluster than the named one
        here = _here(local.read())
    if here is not None and here.address == address:
        return here
    return Endpoint(address, os.environ.get("QUEUEPOOL_GRPC_TOKEN") or None)


def _here(cluster: local.LocalCluster | None) -> Endpoint | None:
    if cluster is None or not cluster.grpc_address:
        return None
    return Endpoint(cluster.grpc_address, cluster.grpc_token)


def connect(endpoint: Endpoint) -> QueuePoolClient:
    """Return a client, with its files from QUEUEPOOL_GRPC_CA, _CERT and _KEY."""
    # grpc's own log lines would clutter our single, clearer line.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from queuepool.rpc import client

    authority, cert, key = (
        os.environ.get(f"QUEUEPOOL_GRPC_{name}") or None for name in ("CA", "CERT", "KEY")
    )
    return client.connect(endpoint.address, endpoint.token, authority, tls_cert=cert, tls_key=key)


@contextmanager
def translated(address: str) -> Iterator[None]:
    """Turn a failed call into a CommandError that names the remedy."""
    import grpc

    try:
        yield
    except grpc.RpcError as error:
        code, details = error.code(), output.clean(error.details() or "")
        away = code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
        if away:
            raise CommandError(
                f"no coordinator responds at {address}. Start one (`queuepool up` or `queuepool "
                "coordinator`), or set another address with --grpc or QUEUEPOOL_GRPC",
                Exit.UNAVAILABLE,
            ) from error
        if code is grpc.StatusCode.UNAUTHENTICATED:
            details += (
                "; set QUEUEPOOL_GRPC_TOKEN, and give the address with --grpc or "
                "QUEUEPOOL_GRPC: the token is never sent to an address from a state file"
            )
        wrong = code in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.INVALID_ARGUMENT)
        raise CommandError(
            f"the coordinator at {address} refused: {details}", Exit.USAGE if wrong else Exit.FAILED
        ) from error


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
