"""Which dead jobs a command means: its filters, and the jobs that match, read a page at a time."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime

from queuepool.cli.arguments import count, duration, moment, words
from queuepool.cli.display.names import key_of
from queuepool.client.pool import QueuePool
from queuepool.client.routes import Route
from queuepool.client.spreading import parts_of
from queuepool.errors import QueuePoolError, ScriptError, UndecodableError
from queuepool.errors.escaping import id_bytes, visible
from queuepool.models import DeadJob, ErrorRecord, JobState, JobStatus
from queuepool.models.finding import JobFilter, is_error
from queuepool.partitions.partition import Partition
from queuepool.protocol import codec
from queuepool.verbs.operator import finding

_PAGE = 200
_IDS = 20  # jobs in one round trip, each with its payload
Page = tuple[Partition, list[DeadJob]]


def add_filters(action: argparse.ArgumentParser) -> None:
    """Add the arguments that choose dead jobs."""
    add = action.add_argument
    add("ids", nargs="*", metavar="ID")
    add("--partition", type=count, metavar="N")
    add("--task", metavar="NAME")
    add("--key", metavar="KEY", help="only this partition key, with its --tenant")
    add("--tenant", metavar="NAME", help="only this tenant")
    add(
        "--error",
        type=words,
        metavar="TEXT",
        help="only jobs whose reason or error contains this text or has this fingerprint",
    )
    add("--older-than", type=duration, metavar="TIME", help="only jobs dead for at least this long")
    add("--since", type=moment, metavar="TIME", help="only jobs that died since then: 1h, 02:10")
    add("--until", type=moment, metavar="TIME", help="only jobs that died until then")
    add("--newest", action="store_true", help="newest first, not oldest first")


def is_filtered(arguments: argparse.Namespace) -> bool:
    """Return whether any filter was given."""
    return any(
        getattr(arguments, name) is not None
        for name in ("partition", "task", "key", "tenant", "error", "older_than", "since", "until")
    )


def matching(
    pool: QueuePool, arguments: argparse.Namespace, damage: list[QueuePoolError]
) -> Iterator[DeadJob]:
    """Yield the dead jobs that match the ids and filters, read in pages.

    damage: collects why a partition cannot be read; the others are still read.
    """
    for _partition, jobs in pages(pool, arguments, damage):
        yield from jobs


def pages(
    pool: QueuePool,
    arguments: argparse.Namespace,
    damage: list[QueuePoolError],
    *,
    whole: bool = True,
    size: int = _PAGE,
) -> Iterator[Page]:
    """Yield the matching jobs by partition, `size` at most a time.

    whole: with payloads and tracebacks; all of a job that a filter needs is there without.
    """
    chosen = pool.places(arguments.partition)
    groups: frozenset[bytes] | None = None
    if arguments.key is not None:
        parts = _parts_of_group(pool, arguments)
        chosen = [p for p in chosen if p.number in {part.partition for part in parts}]
        groups = frozenset(part.group for part in parts)
    matches, where = filter_of(arguments, groups), _filter(arguments)
    for partition in chosen:
        ids = list(dict.fromkeys(arguments.ids))
        try:
            for page in (
                _by_id(partition, where, ids, whole=whole)
                if ids
                else _in_order(partition, where, size, whole=whole)
            ):
                dead = [_dead(partition, *row) for row in zip(page.jobs, page.bodies, strict=True)]
                if found := [job for job in dead if matches(job)]:
                    yield partition, found
        except (ScriptError, UndecodableError) as error:
            error.add_note(f"so no further dead jobs of partition {partition.name} were read")
            damage.append(error)


def _parts_of_group(pool: QueuePool, arguments: argparse.Namespace) -> list[Route]:
    route = pool.producer.route(key_of(arguments.key), arguments.tenant)
    return pool.carry_out(parts_of(pool.config, route))


def _by_id(
    partition: Partition, where: JobFilter, ids: list[str], *, whole: bool
) -> Iterator[finding.Page]:
    """Yield what each of these ids names, without looking at other jobs."""
    for first in range(0, len(ids), _IDS):
        some = ids[first : first + _IDS]
        verbs = [finding.find_one(partition.number, where, i, whole=whole) for i in some]
        replies = partition.server.run(partition.key, verbs)
        yield from (verb.read(reply) for verb, reply in zip(verbs, replies, strict=True))


def _in_order(
    partition: Partition, where: JobFilter, size: int, *, whole: bool
) -> Iterator[finding.Page]:
    """Yield all dead jobs that match, page by page; none that dies after the first page."""
    cursor, begun = b"", False
    while cursor or not begun:
        page = partition.run(finding.find(partition.number, where, cursor, most=size, whole=whole))
        if not begun:
            where = replace(where, until_ms=min(where.until_ms or page.now_ms, page.now_ms))
        yield page
        cursor, begun = page.cursor, True


def _filter(arguments: argparse.Namespace) -> JobFilter:
    """Return what a server can tell; texts for people are compared here."""
    until: datetime | None = arguments.until
    until_s = time.time() if until is None else until.timestamp()
    if arguments.older_than is not None:
        until_s = min(until_s, time.time() - arguments.older_than)
    bounded = until is not None or arguments.older_than is not None
    return JobFilter(
        state=JobState.DEAD,
        error=arguments.error,
        since_ms=None if arguments.since is None else int(arguments.since.timestamp() * 1000),
        until_ms=max(1, int(until_s * 1000)) if bounded else None,
        newest=arguments.newest,
    )


def filter_of(
    arguments: argparse.Namespace, groups: frozenset[bytes] | None
) -> Callable[[DeadJob], bool]:
    """Return a predicate: whether a dead job matches the ids and filters, apart from its time.

    groups: with the parts of one that is spread; None: of any group.
    """
    ids = frozenset(map(id_bytes, arguments.ids))

    def matches(dead: DeadJob) -> bool:
        return (
            (not ids or id_bytes(dead.job_id) in ids)
            and (arguments.task is None or arguments.task in (dead.task, visible(dead.task)))
            and (groups is None or dead.group in groups)
            and (arguments.tenant is None or dead.tenant == arguments.tenant)
            and (arguments.error is None or is_error(arguments.error, dead.task, dead.error))
        )

    return matches


def _dead(partition: Partition, job: JobStatus, body: bytes) -> DeadJob:
    payload, key = None, None
    try:
        envelope = codec.decode_envelope(body)
        payload, key = envelope.payload, envelope.options.key
    except UndecodableError:
        pass
    return DeadJob(
        job_id=job.job_id,
        partition=partition.number,
        died_ms=job.at_ms or 0,
        task=job.task or "",
        group=codec.read_group(body),
        long_key=key,
        attempts=job.attempts,
        crashes=job.crashes,
        error=job.error or ErrorRecord(reason="unknown"),
        payload=payload,
        body=body,
        pool=partition.pool,
    )
