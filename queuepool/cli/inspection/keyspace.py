"""What `queuepool check` reports on a keyspace: its partition count, jobs of unknown tasks."""

from __future__ import annotations

from collections.abc import Iterator

from queuepool.cli.display import output
from queuepool.cli.display.board import unknown, without_consumer
from queuepool.cli.inspection.sources import ServerSource
from queuepool.client.pool import QueuePool
from queuepool.errors import ConfigurationError, QueuePoolError, UnavailableError
from queuepool.settings.config import PoolConfig

Line = tuple[str, str, str]  # level, where, text


def judge(config: PoolConfig) -> Iterator[Line]:
    """Yield findings; skips servers that are down, and creates no route record."""
    with QueuePool(config=config) as pool:
        try:
            record = pool.route.read()
        except ConfigurationError as error:
            yield "error", "settings", str(error)
            return  # with the wrong count, the content of partitions means nothing
        except UnavailableError:
            return
        except QueuePoolError as error:
            text = f"the route record cannot be read: {output.clean(str(error))}"
            yield "error", config.topology.system, text
        else:
            count = config.topology.partitions
            known = "has no route record yet: the first process to enqueue or run jobs creates it"
            if record is not None:
                known = f"has {record.partitions} partitions, record version {record.version}"
            yield "ok", "route", f"the keyspace {known} ({count} are configured)"
        yield from _waiting(pool)


def _waiting(pool: QueuePool) -> Iterator[Line]:
    try:
        rows = ServerSource(pool).look().rows
    except QueuePoolError:
        return
    for row in rows:
        if row.set_aside:
            text = unknown(row.set_aside, row.unknown_tasks)
            yield "warning", f"partition {row.name}", text
        if row.without_consumer:
            yield "warning", f"partition {row.name}", without_consumer(row)
