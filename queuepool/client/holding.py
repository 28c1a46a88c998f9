"""Hold a group, a partition or all of them, or release it, as steps for both pools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from queuepool.client.effects import Steps
from queuepool.client.questions import ask, ask_each
from queuepool.client.routes import Route
from queuepool.errors import InvalidInputError
from queuepool.settings.config import PoolConfig
from queuepool.verbs.producer import verbs as produce


def hold_group(config: PoolConfig, route: Route, key: Any, *, on: bool) -> Steps[bool]:
    """Return whether a group was not held before, or not released.

    Raises InvalidInputError when it has no jobs.
    """
    changed = yield from ask(config, route.partition, produce.configure(route.group, hold=on))
    if changed is None:
        raise InvalidInputError(
            f"group {key!r} has no jobs: none were enqueued, or they ended some time ago and the "
            f"group was forgotten, so there is nothing to {'hold' if on else 'release'}. Enqueue "
            "its jobs first, or hold their partition"
        )
    return changed


def hold_partitions(config: PoolConfig, partition: int | None, *, on: bool) -> Steps[int]:
    """Return how many partitions were not held before, or not released. None: of all."""
    topology = config.topology
    numbers: Sequence[int] = range(topology.partitions)
    if partition is not None:
        topology.server_of(partition)  # raises for a partition that is not there
        numbers = [partition]
    changed = yield from ask_each(config, [(n, produce.configure(None, hold=on)) for n in numbers])
    return sum(map(bool, changed))
