"""The rule about servers that refuse every write; and why they do. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from queuepool.models.doctor import Finding, Refusal, ServerFigures, Severity
from queuepool.telemetry.doctor.observed import Observed

# During a failover the old primary is a replica for seconds, and needs nobody if that ends.
REFUSES_S = 10


def refuses_writes(seen: Observed) -> Iterator[Finding]:
    """Find servers that refuse every write, whatever it writes; a full one refuses some only."""
    for server in seen.servers:
        if server.refusal is None:
            continue
        why, remedy = _why(server, server.refusal)
        yield Finding(
            kind="refuses-writes",
            severity=Severity.CRITICAL,
            subject=f"server {server.name}",
            what=f"it refuses writes: {why} ({server.refusal})",
            meaning="no job is accepted, starts or ends there, and no process can own its "
            "partitions or lead; stored jobs are kept",
            remedy=remedy,
        )


def _why(server: ServerFigures, refusal: Refusal) -> tuple[str, str]:
    match refusal:
        case Refusal.UNSAVED:
            what = "its append-only file" if server.write_error else "its last snapshot"
            return (
                f"{what} could not be written",
                "see the server's log: is its disk full, or its directory not writable? After "
                "the next successful write of the file it accepts writes by itself",
            )
        case Refusal.ALONE:
            return (
                "it has fewer good replicas than min-replicas-to-write",
                "bring its replicas back (INFO replication), or CONFIG SET min-replicas-to-write "
                "to as many as there are",
            )
        case Refusal.REPLICA:
            return ("it is a replica", "set QUEUEPOOL_URL to the primary; then queuepool check")
