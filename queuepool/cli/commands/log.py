"""queuepool log: operator actions and events."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from queuepool.cli.arguments import add_grpc, add_json, moment, positive
from queuepool.cli.display import output
from queuepool.cli.display.log import lines_of
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.acting import act
from queuepool.cli.inspection.pools import open_pool
from queuepool.models.log import KEPT, KEPT_S, LogEntry, LogKind

if TYPE_CHECKING:
    from queuepool.rpc.client import QueuePoolClient

DESCRIPTION = (
    "Show operator actions, findings of the doctor, changes of the leader, consumers that started "
    f"and stopped, and changes of worker counts. About {KEPT:,} entries of each kind are kept, for "
    f"{KEPT_S / 86_400:.0f} days."
)
_MOST = 500  # that a coordinator gives in one answer
_INTERVAL_S = 1.0
_PAGES = 20  # of new entries, read at once


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `queuepool log`."""
    add = parser.add_argument
    add("--since", type=moment, metavar="TIME", help="start: 1h, 02:10; default 1d")
    add("--until", type=moment, metavar="TIME", help="until then")
    kinds = [kind.value for kind in LogKind]
    add(
        "--kind", action="append", default=[], choices=kinds, help="only this kind; may be repeated"
    )
    add(
        "--limit",
        type=positive,
        default=200,
        metavar="N",
        help="number of newest entries; default 200",
    )
    add("--follow", action="store_true", help="keep printing new entries until Ctrl-C")
    add_grpc(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> Exit:
    """Show the log."""
    if arguments.limit > _MOST:
        raise CommandError(
            f"--limit: at most {_MOST}; --until shows what is older than the first", Exit.USAGE
        )
    if arguments.follow and arguments.until is not None:
        raise CommandError("--follow has no --until", Exit.USAGE)
    since_ms = _ms(arguments.since) or round((datetime.now(UTC).timestamp() - 86_400) * 1000)
    until_ms = _ms(arguments.until)
    if until_ms is not None and until_ms < since_ms:
        raise CommandError(
            "--until is earlier than --since, of which 1d is the default", Exit.USAGE
        )
    found = _read(arguments, since_ms, until_ms, arguments.limit)
    _show(arguments, found)
    if arguments.follow:
        _follow(arguments, found, since_ms)
    elif not found and not arguments.json:
        output.say("no entries from that time")
    elif len(found) == arguments.limit:
        output.remark("there may be older entries: use --limit or --until")
    return Exit.OK


def _follow(arguments: argparse.Namespace, found: Iterable[LogEntry], since_ms: int) -> None:
    seen = {(one.kind, one.id) for one in found}
    since_ms = max([since_ms, *(one.at_ms for one in found)])
    pause = threading.Event()
    while not pause.wait(_INTERVAL_S):
        page = _all_new(arguments, since_ms)
        _show(arguments, (one for one in page if (one.kind, one.id) not in seen))
        since_ms = max([since_ms, *(one.at_ms for one in page)])
        # Others of the same millisecond may still come.
        seen = {(one.kind, one.id) for one in page if one.at_ms >= since_ms}


def _all_new(arguments: argparse.Namespace, since_ms: int) -> list[LogEntry]:
    """Return the entries since then, however many came at once, up to a bound that is told."""
    found: dict[tuple[LogKind, str], LogEntry] = {}
    until_ms = None
    for _ in range(_PAGES):
        page = _read(arguments, since_ms, until_ms, _MOST)
        found = {(one.kind, one.id): one for one in page} | found
        if len(page) < _MOST or page[0].at_ms == until_ms:
            return list(found.values())
        until_ms = page[0].at_ms
    output.remark("more entries came at once than are followed: use --since and --until")
    return list(found.values())


def _show(arguments: argparse.Namespace, entries: Iterable[LogEntry]) -> None:
    width = output.console().width
    for entry in entries:
        if arguments.json:
            output.print_json(asdict(entry))
        else:
            for line in lines_of(entry, width):
                output.say(line)


def _read(
    arguments: argparse.Namespace, since_ms: int, until_ms: int | None, most: int
) -> list[LogEntry]:
    kinds = [LogKind(kind) for kind in arguments.kind]

    def directly() -> list[LogEntry]:
        with open_pool() as pool:
            since = datetime.fromtimestamp(since_ms / 1000, UTC)
            until = None if until_ms is None else datetime.fromtimestamp(until_ms / 1000, UTC)
            return pool.log(since=since, until=until, kinds=kinds, most=most)

    def ask(client: QueuePoolClient) -> list[LogEntry]:
        import grpc

        from queuepool.rpc.log import entry_of, numbers_of
        from queuepool.rpc.v1 import queue_pool_pb2 as api

        request = api.LogRequest(
            since_ms=since_ms, until_ms=until_ms, kinds=numbers_of(kinds), page_size=most
        )
        try:
            answer = client.Log(request)
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.UNIMPLEMENTED:  # of an earlier release
                return directly()
            raise
        return [entry for entry in map(entry_of, answer.entries) if entry is not None]

    return act(arguments.grpc, ask, directly)


def _ms(at: datetime | None) -> int | None:
    return None if at is None else max(0, round(at.timestamp() * 1000))
