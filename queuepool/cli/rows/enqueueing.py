"""Enqueues rows into a group: checked, in batches, and counted if it is interrupted."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from queuepool.cli.display.names import key_of
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.rows.row_ids import RowId
from queuepool.cli.rows.rows import Payload, Row, RowError, open_rows, read_rows
from queuepool.cli.rows.unique_keys import UniqueOf
from queuepool.client.pool import QueuePool
from queuepool.client.results import EnqueueResults
from queuepool.errors import InvalidInputError, UnavailableError, UnconfirmableError
from queuepool.models import EnqueueStatus
from queuepool.protocol import codec
from queuepool.tasks.job import Job
from queuepool.tasks.limiting import JobLimits

_BATCH = 5_000  # rows per call: how many are uncertain if a server goes away during one
_NOT_TWICE = "a row is not added twice while its job exists and for a minute after it ends"

Advance = Callable[[int], None]
Check = Callable[[Payload], None]


@dataclass(slots=True)
class Tally:
    """The outcome of the rows. complete: all of them are in."""

    rows: int = 0
    complete: bool = False
    accepted: int = 0
    duplicates: int = 0
    conflicts: int = 0
    replaced: int = 0

    def add(self, results: EnqueueResults, rows: int) -> None:
        """Count the results of so many rows."""
        self.accepted += results.accepted
        self.duplicates += results.duplicates
        self.conflicts += results.conflicts
        self.replaced += results.replaced
        self.rows += rows


def check_file(
    arguments: argparse.Namespace, form: str, check: Check, id_of: RowId, unique_of: UniqueOf
) -> int:
    """Read the whole file once, so that a bad row is found before anything is enqueued."""
    name: str = arguments.file
    skip: int = arguments.skip
    with open_rows(name) as lines:
        try:
            if arguments.id is None:  # no row can be without one
                id_of = _no_id
            rows = read_rows(lines, form, arguments.delimiter)
            total = sum(1 for _ in checked(rows, check, id_of, unique_of))
        except RowError as error:
            error.add_note(f"nothing of {name} was enqueued")
            raise
    if total == 0:
        raise InvalidInputError(f"{name} has no rows; nothing was enqueued")
    if skip >= total:
        raise InvalidInputError(f"--skip {skip} skips all {total:,} rows of {name}")
    return total - skip


def checked(
    rows: Iterable[Row], check: Check, id_of: RowId, unique_of: UniqueOf, skip: int = 0
) -> Iterator[Job]:
    """Yield the job of each row after the skipped ones, which still count for ids."""
    rows = iter(rows)
    for line, payload in islice(rows, skip):
        with suppress(RowError):
            id_of(line, payload)
    for line, payload in rows:
        try:
            check(payload)
        except InvalidInputError as error:
            raise RowError(line, str(error)) from error
        yield Job(payload, job_id=id_of(line, payload), unique=unique_of(line, payload))


def payload_check(task: str, limit_bytes: int, limits: JobLimits) -> Check:
    """Return a check that raises InvalidInputError for a row unfit as this task's payload.

    limits: what the jobs name, possibly by values of the row.
    """

    def check(payload: Payload) -> None:
        limits.gate(payload)
        codec.encode_envelope(task, payload, codec.NO_OPTIONS, limit=limit_bytes)

    return check


def _no_id(_line: int, _payload: Payload) -> None:
    return None


def checked_before(_payload: Payload) -> None:
    """Check nothing: the whole file was checked, and the pool rejects what changed since."""


def enqueue(
    pool: QueuePool,
    rows: Iterator[Job],
    arguments: argparse.Namespace,
    advance: Advance,
    tally: Tally,
) -> None:
    """Enqueue and count rows, one batch per call. An error that ends it says how many are in."""
    batch, options = _Batch([], 0), _options(arguments)
    try:  # around the loop: Ctrl-C may strike between its rounds
        while True:
            batch = _Batch(list(islice(rows, _BATCH)), tally.rows)
            if not batch.jobs:
                tally.complete = True
                return
            jobs = _counted(batch.begun(), advance)
            tally.add(pool.enqueue_many(arguments.task, jobs, **options), len(batch.jobs))
    except (InvalidInputError, UnavailableError, UnconfirmableError) as error:
        error.add_note(
            _where_it_stopped(tally.rows, arguments.skip, batch.until - tally.rows, error)
        )
        raise
    except KeyboardInterrupt as error:
        where = _where_it_stopped(tally.rows, arguments.skip, batch.until - tally.rows, error)
        raise CommandError(f"interrupted: {where}", Exit.INTERRUPTED) from None


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what all calls have in common, as `enqueue_many` names it."""
    return {
        "partition_key": key_of(arguments.key),
        "tenant": arguments.tenant,
        "spread": arguments.spread,
        "pool": arguments.pool,
        "tier": arguments.tier,
        "delay_s": arguments.delay,
        "max_attempts": arguments.max_attempts,
        "expires_s": arguments.expires,
        "unique_until": arguments.until,
        "on_conflict": arguments.on_conflict,
        "limit": arguments.limit,
        "wait_when_full_s": arguments.wait_when_full,
        "durability": arguments.durability,
    }


class _Batch:
    """The jobs of a call. until: how many rows may be in by the end of it, all calls included."""

    def __init__(self, jobs: Sequence[Job], before: int) -> None:
        self.jobs, self.until = jobs, before

    def begun(self) -> Iterator[Job]:
        """Yield the jobs: until the call takes the first one, it has sent nothing."""
        self.until += len(self.jobs)
        yield from self.jobs


def _counted(batch: Iterable[Job], advance: Advance) -> Iterator[Job]:
    for number, row in enumerate(batch, start=1):
        yield row
        if number % 500 == 0:
            advance(500)


def _where_it_stopped(rows: int, skipped: int, perhaps: int, error: BaseException) -> str:
    results: EnqueueResults | None = getattr(error, "results", None)
    if results is not None:
        sure, perhaps = _extent(results)
        rows += sure
    done = rows + skipped
    if isinstance(error, RowError):
        return f"the first {done:,} rows are enqueued; fix the row and continue with --skip {done}"
    if perhaps:
        some = "" if results is not None else "some of "
        return (
            f"the first {done:,} rows are enqueued, and possibly {some}the next {perhaps:,}; run "
            f"it again, or continue with --skip {done}: {_NOT_TWICE}"
        )
    if rows == 0 and isinstance(error, InvalidInputError):
        return "nothing was enqueued"
    return f"exactly the first {done:,} rows are enqueued; continue later with --skip {done}"


def _extent(results: EnqueueResults) -> tuple[int, int]:
    """Return how many rows are certainly in, from the first, and how many after them may be."""
    there = set(EnqueueStatus) - {EnqueueStatus.REJECTED, EnqueueStatus.UNKNOWN}
    statuses = [result.status for result in results]
    sure = next((n for n, status in enumerate(statuses) if status not in there), len(statuses))
    while statuses and statuses[-1] is EnqueueStatus.REJECTED:
        statuses.pop()
    return sure, max(0, len(statuses) - sure)
