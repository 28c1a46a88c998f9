"""Rules about servers: reachable, full, evicting, durable. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from queuepool.errors import UnavailableError
from queuepool.models.doctor import Finding, ServerFigures, Severity
from queuepool.telemetry.doctor.observed import Observed
from queuepool.telemetry.doctor.rules.rule import HOUR_S, lasting, size

# A failover or a restart takes seconds, and needs nobody if it ends.
AWAY_S = 10
# At 90 % there is still room for a fork's copies and to react; at 97 % enqueues are about to fail.
FULL, ALMOST_OUT = 0.90, 0.97
# What a replica lacks is what a failover loses. A link of 1 Gbit/s carries 16 MiB in 0.13 s, so
# more than that for a minute is a replica that does not follow. Replicas ping every second.
BEHIND_BYTES, SILENT_S, BEHIND_S = 16 * 2**20, 10, 60
# Below a quarter of the memory, or 256 MiB, results that nobody fetches harm nobody. A job costs
# its body and about 400 bytes of index.
RESULTS_SHARE, RESULTS_BYTES, JOB_BYTES, FEWEST_KEYS = 0.25, 256 * 2**20, 400, 10_000
# A server without jobs has used about 1 MB since its start; caches of scripts are far below 32.
OWN_BYTES = 32 * 2**20


def away(seen: Observed) -> Iterator[Finding]:
    """Find servers that do not answer, or not to this password."""
    for server in seen.servers:
        if not server.problem:
            continue
        what = f"it does not respond: {server.problem}"
        meaning = "its partitions stop and accept no jobs; stored jobs are kept"
        _, rejected, why = server.problem.partition(f" {UnavailableError.REJECTED}: ")
        if rejected:
            what = f"it {UnavailableError.REJECTED}: {why}"
            meaning = (
                "this process cannot see its partitions; processes with the right password are "
                "not affected"
            )
        yield Finding(
            kind="server-away",
            severity=Severity.CRITICAL,
            subject=f"server {server.name}",
            what=what,
            meaning=meaning,
            remedy="queuepool check",
        )


def memory(seen: Observed) -> Iterator[Finding]:
    """Find servers whose memory is nearly used up."""
    for server in seen.servers:
        if not server.limit or server.used < FULL * server.limit:
            continue
        share = server.used / server.limit
        yield Finding(
            kind="memory",
            severity=Severity.CRITICAL if share >= ALMOST_OUT else Severity.WARNING,
            subject=f"server {server.name}",
            what=f"{share:.0%} of its memory is used, {size(server.used)} of {size(server.limit)}",
            meaning="when it is full, enqueues are refused; jobs that are stored still run",
            remedy="queuepool dead digest; raise maxmemory, or let workers catch up",
        )


def evictions(seen: Observed) -> Iterator[Finding]:
    """Find servers that delete keys to make room, or would."""
    for server in seen.servers:
        lately = seen.past.evicted.get(server.name, 0) if seen.past is not None else None
        gone = server.evicted if lately is None else lately
        may = server.policy not in ("", "noeviction")
        if gone <= 0 and not may:
            continue
        since = "since it started" if lately is None else f"within {lasting(HOUR_S)}"
        yield Finding(
            kind="evictions",
            severity=Severity.CRITICAL,
            subject=f"server {server.name}",
            what=f"it evicted {gone:,} keys {since}"
            if gone > 0
            else f"its maxmemory-policy is {server.policy}",
            meaning="a full server deletes jobs, lanes or totals silently: jobs are lost",
            remedy="CONFIG SET maxmemory-policy noeviction, then queuepool audit --repair",
        )


def persistence(seen: Observed) -> Iterator[Finding]:
    """Find servers that forget jobs when they restart."""
    for server in seen.servers:
        if server.write_error:
            what, worst = "its append-only file cannot be written", Severity.CRITICAL
        elif server.appendonly is False:
            what, worst = "it writes no append-only file", Severity.WARNING
        else:
            continue
        yield Finding(
            kind="persistence",
            severity=worst,
            subject=f"server {server.name}",
            what=what,
            meaning="a restart of the server loses the jobs that it accepted",
            remedy="CONFIG SET appendonly yes, and in its configuration file; is its disk full?"
            if server.write_error
            else "CONFIG SET appendonly yes, and in its configuration file",
        )


def replication(seen: Observed) -> Iterator[Finding]:
    """Find servers with a replica that does not follow."""
    for server in seen.servers:
        if server.replicas and (server.behind > BEHIND_BYTES or server.silent_s > SILENT_S):
            yield Finding(
                kind="replication",
                severity=Severity.WARNING,
                subject=f"server {server.name}",
                what=f"a replica is {size(server.behind)} behind, and was last heard of "
                f"{lasting(server.silent_s)} ago",
                meaning="a failover to it loses its missing writes; `replicated` enqueues may fail",
                remedy="INFO replication on the server; check the replica and its network",
            )


def results_memory(seen: Observed) -> Iterator[Finding]:
    """Find servers of whose memory much is taken by keys that expire: results nobody fetches."""
    for server in seen.servers:
        kept = server.used - _accounted(seen, server) - OWN_BYTES
        bound = RESULTS_SHARE * (server.limit or server.used)
        if server.expiring < FEWEST_KEYS or kept < max(bound, RESULTS_BYTES):
            continue
        yield Finding(
            kind="results-memory",
            severity=Severity.NOTICE,
            subject=f"server {server.name}",
            what=f"about {size(kept)} is not jobs; {server.expiring:,} of its {server.keys:,} "
            "keys expire, most of them results",
            meaning="results are kept until they expire, whether or not anyone fetches them",
            remedy="@task(result_ttl_s=0), or a shorter TTL, for tasks whose results nobody reads",
        )


def _accounted(seen: Observed, server: ServerFigures) -> int:
    """Return the bytes that the jobs of a server take; dead ones are among them."""
    states = (one.state for one in seen.places if one.server == server.name)
    return sum(state.bytes + JOB_BYTES * state.jobs for state in states if state is not None)
