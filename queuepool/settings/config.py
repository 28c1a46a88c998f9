"""The configuration of a Queue Pool: plain values, whatever their source. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from queuepool.errors import ConfigurationError
from queuepool.models import Durability
from queuepool.protocol.codec import MAX_PAYLOAD_BYTES
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import Topology


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolConfig:
    """Everything a Queue Pool needs. Limits hold for each partition.

    tenant_separator: the part of a partition key before it is the tenant; '': keys name none.
    retry_for_s must stay below 60: ids of finished jobs are remembered that long, which makes a
    repeated enqueue harmless. confirm_replicas: None means 1 if replicated, else 0.
    """

    topology: Topology
    keyspace: Keyspace = field(default_factory=Keyspace)
    max_depth: int = 5_000_000
    max_bytes: int = 2 * 1024**3
    max_payload_bytes: int = 256 * 1024
    timeout_s: float = 5.0
    retry_for_s: float = 10.0
    durability: Durability | str = Durability.FAST
    confirm_replicas: int | None = None
    tenant_separator: str = ""

    def __post_init__(self) -> None:
        problems = []
        if self.durability not in tuple(Durability):
            allowed = ", ".join(Durability)
            problems.append(f"QUEUEPOOL_DURABILITY={self.durability!r}: use one of {allowed}")
        if self.confirm_replicas is not None and self.confirm_replicas < 1:
            problems.append(f"QUEUEPOOL_CONFIRM_REPLICAS={self.confirm_replicas}: use 1 or more")
        if self.max_payload_bytes > MAX_PAYLOAD_BYTES:
            problems.append(f"QUEUEPOOL_MAX_PAYLOAD_BYTES is at most {MAX_PAYLOAD_BYTES}")
        if self.max_depth < 1 or self.max_bytes < 1 or self.max_payload_bytes < 1:
            problems.append("QUEUEPOOL_MAX_DEPTH, _MAX_BYTES and _MAX_PAYLOAD_BYTES are at least 1")
        if not 0 < self.timeout_s <= 60:
            problems.append(f"QUEUEPOOL_TIMEOUT_S={self.timeout_s}: use more than 0, at most 60")
        if not 0 <= self.retry_for_s < 60:
            problems.append(f"QUEUEPOOL_RETRY_FOR_S={self.retry_for_s}: use 0 to 59")
        if len(self.tenant_separator) > 8 or not self.tenant_separator.isprintable():
            problems.append(
                f"QUEUEPOOL_TENANT_SEPARATOR={self.tenant_separator!r}: use 1 to 8 visible "
                "characters, such as :, or nothing"
            )
        if problems:
            raise ConfigurationError("; ".join(problems))

    def of(self, pool: str) -> PoolConfig:
        """Return the same for another pool of workers. Raises InvalidInputError."""
        space = self.keyspace.of(pool)
        return self if space is self.keyspace else replace(self, keyspace=space)
