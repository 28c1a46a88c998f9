"""A rig with two servers, "main" and "big", which both sync every write: one may be killed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Self

from queuepool.process.embedded import EmbeddedServer
from queuepool.routing.topology import Topology, build
from tests.chaos.rig import Rig


class TwoServers(Rig):
    """Two servers and their processes; placement: where partitions begin, "0-3=main,4-7=big"."""

    def __init__(
        self, directory: Path, placement: str, *, partitions: int, binary: Path | None = None
    ) -> None:
        always = ("--appendfsync", "always")
        super().__init__(directory, partitions=partitions, binary=binary, extra_args=always)
        self.placement = placement
        self.big = EmbeddedServer(directory / "big", extra_args=always, binary=binary)

    def __enter__(self) -> Self:
        self._ending.enter_context(self.big)
        super().__enter__()
        servers = json.dumps(dict(self.topology().servers))
        self.environment = {
            "QUEUEPOOL_URL": "",
            "QUEUEPOOL_SERVERS": servers,
            "QUEUEPOOL_PLACEMENT": self.placement,
        }
        return self

    def topology(self) -> Topology:
        """Return where partitions are at first."""
        servers = {"main": self.server.url, "big": self.big.url}
        return build(servers, self.partitions, self.placement)
