"""queuepool scale: set a partition's workers manually for a limited time."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from queuepool.cli.arguments import add_grpc, add_json, add_reason, duration, place, positive
from queuepool.cli.display import output
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.acting import act
from queuepool.cli.inspection.pools import leader_of, open_pool
from queuepool.models.durations import format_duration
from queuepool.models.places import DEFAULT_POOL, place_text, pool_field
from queuepool.routing.topology import MAX_PARTITIONS
from queuepool.rpc.acting import reason
from queuepool.verbs.leader import verbs as lead

if TYPE_CHECKING:
    from queuepool.rpc.client import QueuePoolClient

_LONGEST_S = 7 * 86400
_MOST = 4096  # workers that the settings allow


DESCRIPTION = (
    "Set a partition's workers manually for a limited time; automatic scaling resumes afterwards."
)


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `queuepool scale`."""
    add = parser.add_argument
    add(
        "partition",
        type=place,
        metavar="PARTITION",
        help="a partition: 3, or 3/video for one of its pools",
    )
    add("workers", type=positive, nargs="?", metavar="N")
    add("--auto", action="store_true", help="return to automatic scaling now")
    add("--for", dest="duration", type=duration, default=600.0, metavar="TIME", help="default 10m")
    add_reason(parser, "scale", "partition workers --for:duration --auto")
    add_grpc(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> Exit:
    """Set or clear a manual worker count."""
    if arguments.auto == (arguments.workers is not None):
        raise CommandError(
            "give a number of workers (queuepool scale 3 24 --for 10m), or --auto", Exit.USAGE
        )
    if not arguments.auto and not 1 <= arguments.duration <= _LONGEST_S:
        raise CommandError("--for: use 1s to 7d", Exit.USAGE)
    outcome = act(
        arguments.grpc,
        lambda client: _by_coordinator(arguments, client),
        lambda: _directly(arguments),
    )
    if arguments.json:
        output.print_json(outcome)
    else:
        output.say(_sentence(outcome))
    return Exit.OK


def _by_coordinator(arguments: argparse.Namespace, client: QueuePoolClient) -> dict[str, Any]:
    from queuepool.rpc.v1 import queue_pool_pb2 as api

    number, pool = arguments.partition
    if number >= MAX_PARTITIONS:  # a request has no room for any number
        raise CommandError(f"there is no partition {number}", Exit.USAGE)
    if arguments.auto:
        client.ClearWorkers(
            api.ClearWorkersRequest(partition=number, pool=pool_field(pool), reason=reason())
        )
        return {"partition": _shown(number, pool), "mode": "automatic"}
    asked = api.GetClusterRequest(pool=pool_field(pool))
    most = client.GetCluster(asked).cluster.limits.max_workers
    if 0 < most < arguments.workers:
        raise CommandError(_too_many(arguments.workers, most, pool), Exit.USAGE)
    reply = client.SetWorkers(
        api.SetWorkersRequest(
            partition=number,
            pool=pool_field(pool),
            workers=arguments.workers,
            ttl_s=arguments.duration,
            reason=reason(),
        )
    )
    return _manual(_shown(number, pool), reply.workers, reply.manual_until_ms)


def _too_many(workers: int, most: int, pool: str) -> str:
    option, ours = "", "COORDINATOR_MAX_WORKERS together with CONSUMER_MAX_WORKERS"
    if pool != DEFAULT_POOL:
        option, ours = f"--pool {pool} ", "COORDINATOR_POOLS together with CONSUMER_POOLS"
    return (
        f"{workers:,} workers are above the maximum of {most:,} in force; nothing was changed. "
        f"Raise it by `queuepool policy set {option}max_workers={workers}`, or {ours}, or request "
        "fewer"
    )


def _directly(arguments: argparse.Namespace) -> dict[str, Any]:
    number, name = arguments.partition
    if not arguments.auto and arguments.workers > _MOST:
        raise CommandError(
            f"{arguments.workers:,} workers are above {_MOST:,}, the most that "
            "COORDINATOR_MAX_WORKERS and CONSUMER_MAX_WORKERS can be; nothing was changed",
            Exit.USAGE,
        )
    with open_pool() as queue:
        queue.config.topology.server_of(number)  # raises for a partition that is not there
        if name != DEFAULT_POOL and name not in queue.partition(number).pools():
            raise CommandError(
                f"partition {number} has no pool {name}: no consumer runs it there, and no job was "
                "enqueued for it",
                Exit.USAGE,
            )
        server, key = queue.system_of(name)
        leads = leader_of(queue, name).lease_ms > 0
        if arguments.auto:
            verb = lead.clear_manual(number)
        else:
            verb = lead.set_manual(number, arguments.workers, ttl_ms=int(arguments.duration * 1000))
        until_ms = verb.read(server.run(key, [verb])[0])
    if not leads:
        output.remark("no coordinator leads; the change takes effect when one does")
    if arguments.auto:
        return {"partition": _shown(number, name), "mode": "automatic"}
    output.remark(
        "no coordinator was reached, so its maximum is unknown: at most COORDINATOR_MAX_WORKERS "
        "and CONSUMER_MAX_WORKERS are applied (`queuepool status`)"
    )
    return _manual(_shown(number, name), arguments.workers, until_ms)


def _shown(number: int, pool: str) -> int | str:
    return number if pool == DEFAULT_POOL else place_text(number, pool)


def _manual(number: int | str, workers: int, until_ms: int) -> dict[str, Any]:
    return {"partition": number, "mode": "manual", "workers": workers, "until_ms": until_ms}


def _sentence(outcome: dict[str, Any]) -> str:
    if outcome["mode"] == "automatic":
        return f"partition {outcome['partition']} is scaled automatically again"
    left = format_duration(outcome["until_ms"] / 1000 - time.time())
    return f"partition {outcome['partition']}: {outcome['workers']} workers for {left}"
