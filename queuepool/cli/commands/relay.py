"""queuepool relay: enqueue jobs from an outbox in a database."""

from __future__ import annotations

import argparse
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from queuepool.cli.arguments import add_json, duration
from queuepool.cli.display import output
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.pools import open_pool
from queuepool.client.outbox.databases import Database, create, open_database
from queuepool.client.outbox.relay import Relay
from queuepool.client.outbox.schema import DIALECTS, TABLE, statements
from queuepool.client.pool import QueuePool
from queuepool.errors import ConfigurationError, UnavailableError
from queuepool.process.keeping import RouteKeeper
from queuepool.telemetry import printing

_VARIABLE = "QUEUEPOOL_OUTBOX_DATABASE"
_LONGEST_PAUSE_S = 5.0
DESCRIPTION = f"""\
Move the jobs that applications added to an outbox, in their database transactions, to their
partitions, until Ctrl-C. Start two if you like: one waits until the other ends. The database is
that of --database or {_VARIABLE}, where a password is not visible to other users.
See docs/outbox.md.
"""


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `queuepool relay`."""
    add = parser.add_argument
    add("--database", metavar="URL", help="postgresql://... or sqlite:///FILE")
    add("--table", default=TABLE, help=f"default {TABLE}")
    add("--interval", type=duration, default=0.2, metavar="TIME",
        help="polling interval while the table is empty; default 200ms")  # fmt: skip
    add("--once", action="store_true", help="enqueue the rows that exist, and exit")
    add("--create", action="store_true", help="create the tables, and exit")
    add("--schema", choices=DIALECTS, help="print the SQL that creates the tables, and exit")
    add_json(parser)


def run(arguments: argparse.Namespace) -> Exit:
    """Relay until a signal, or once; or create the tables."""
    if arguments.schema:
        for statement in statements(arguments.schema, arguments.table):
            output.say(*f"{statement};".split("\n"))
        return Exit.OK
    url = arguments.database or os.environ.get(_VARIABLE)
    if not url:
        raise CommandError(f"no database: use --database URL, or set {_VARIABLE}", Exit.USAGE)
    if arguments.create:
        with _open(url) as database:
            create(database, arguments.table)
        output.say(f"{arguments.table} and {arguments.table}_state are there")
        return Exit.OK
    if arguments.interval <= 0:
        raise CommandError("--interval must be above 0", Exit.USAGE)
    stopping = threading.Event()
    before = signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    try:
        return _Relaying(arguments, url, stopping).run()
    except KeyboardInterrupt:
        return Exit.OK
    finally:
        signal.signal(signal.SIGTERM, before)


class _Relaying:
    """Looks until it is to stop; starts over with another connection after the database failed."""

    def __init__(self, arguments: argparse.Namespace, url: str, stopping: threading.Event) -> None:
        self._arguments, self._url, self._stopping = arguments, url, stopping
        self._moved, self._said = 0, ""
        self._refused: list[ConfigurationError] = []

    def run(self) -> Exit:
        once, failures = self._arguments.once, 0
        with open_pool() as pool, self._kept(pool):
            while not self._stopping.is_set():
                try:
                    with _open(self._url) as database:
                        relay = Relay(pool, database, self._arguments.table)
                        failures = 0
                        done = self._look_often(relay)
                    if once:
                        return done
                except UnavailableError as error:
                    if once:
                        raise
                    failures += 1
                    self._note(str(error))
                    pause_s = min(_LONGEST_PAUSE_S, 0.1 * 2.0 ** min(failures, 10))
                    self._stopping.wait(pause_s)
        if self._refused:
            raise CommandError(str(self._refused[0]), Exit.USAGE)
        return Exit.OK

    @contextmanager
    def _kept(self, pool: QueuePool) -> Iterator[None]:
        """Stop if the keyspace turns out to have another number of partitions."""

        def refuse(error: ConfigurationError) -> None:
            self._refused.append(error)
            self._stopping.set()

        keeper = RouteKeeper(pool, refuse)
        keeper.start()
        try:
            yield
        finally:
            keeper.stop()

    def _look_often(self, relay: Relay) -> Exit:
        arguments = self._arguments
        while not relay.lock():
            self._note("another relay holds the lock; this one stands by")
            if arguments.once:
                return Exit.UNAVAILABLE
            if self._stopping.wait(1.0):
                return Exit.OK
        while not self._stopping.is_set():
            found = relay.look()
            self._moved += found.moved
            self._note("; ".join(found.problems.values()))
            goes_on = found.moved or found.again
            if arguments.once and (not goes_on or found.problems):
                return self._end(relay)
            if not goes_on:
                self._stopping.wait(arguments.interval)
        return Exit.OK

    def _end(self, relay: Relay) -> Exit:
        waiting, refused = relay.waiting()
        if self._arguments.json:
            figures = {"moved": self._moved, "waiting": waiting, "refused": refused}
            output.print_json(figures)
        else:
            output.say(f"{self._moved:,} moved, {waiting:,} wait, {refused:,} were refused")
        if waiting:
            return Exit.UNAVAILABLE
        return Exit.FAILED if refused else Exit.OK

    def _note(self, problem: str) -> None:
        """Print a problem when it is new, and its end."""
        if problem != self._said:
            printing.remark(output.clean(problem, 500) if problem else "the relay continues")
        self._said = problem


@contextmanager
def _open(url: str) -> Iterator[Database]:
    try:
        database = open_database(url)
    except ConfigurationError as error:
        raise CommandError(str(error), Exit.USAGE) from error
    try:
        yield database
    finally:
        database.close()
