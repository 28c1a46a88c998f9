"""What the Python adapters share: payloads, the job's body, the record of a job, the producer.

A record is written when a job ends, outside Redis, to a file in memory that outlives a SIGKILL;
when the order asks for it, another one is written when the job starts:

    u64 enqueued | u64 started | u64 ended | u32 id | u16 is_rival | u16 mark: 1 ended, 2 started

Times are CLOCK_MONOTONIC in ns. The mark is written last: a slot without it is unused, or was cut
off. Every process has a file of its own. Its threads take slots in turn, so a kill may leave
holes. Only the standard library is imported here.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import mmap
import os
import struct
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

RECORD = struct.Struct("<QQQIHH")
ENDED, STARTED = 1, 2
SLOTS = 1 << 18  # of a sparse file: only what is used takes memory
CHUNK = 1000  # jobs of one bulk call
JOBS_OF_A_TENANT = 100
IN_FLIGHT = 100  # calls at a time where an asyncio client has no bulk call

URL = os.environ.get("PEERS_URL", "redis://127.0.0.1:6379/0")
VARIANT = os.environ.get("PEERS_VARIANT", "")
PROCESSES = int(os.environ.get("PEERS_PROCESSES", "1"))

Payload = dict[str, Any]
_FILLER = "." * 46


@dataclass(frozen=True)
class Order:
    """What a producer is to enqueue: `jobs` with ids from `first`, `gap_ms` apart.

    Without `tenant` every 100 consecutive jobs belong to a tenant of their own.
    """

    jobs: int
    bulk: bool = True
    sleep_ms: float = 0.0
    first: int = 0
    gap_ms: float = 0.0
    tenant: str = ""
    is_rival: bool = False
    note_starts: bool = False


@dataclass(frozen=True)
class Peer:
    """A queue: calls of its producer, plain or coroutines, and its worker."""

    packages: tuple[str, ...]
    settings: str
    connect: Callable[[], object]
    enqueue: Callable[[Payload], object]
    enqueue_many: Callable[[Sequence[Payload]], object]
    work: Callable[[int], None]
    close: Callable[[], object] = bool


def payload_of(order: Order, number: int) -> Payload:
    """Return a payload of about 120 bytes of JSON; `at` is the time of the call."""
    return {
        "id": number,
        "at": time.monotonic_ns(),
        "ms": order.sleep_ms,
        "tenant": order.tenant or f"t{number // JOBS_OF_A_TENANT}",
        "rival": int(order.is_rival),
        "note": int(order.note_starts),
        "filler": _FILLER,
    }


class Mapped:
    """Records by assignment to shared memory: no system call, so threads keep their pace."""

    def __init__(self, folder: Path) -> None:
        path = folder / f"{os.getpid()}-{time.monotonic_ns()}.records"
        with path.open("x+b") as file:
            file.truncate(SLOTS * RECORD.size)
            self._memory = mmap.mmap(file.fileno(), SLOTS * RECORD.size)
        self._slots = itertools.count()  # next() is atomic under the interpreter's lock

    def write(self, *fields: int) -> None:
        RECORD.pack_into(self._memory, next(self._slots) * RECORD.size, *fields)


class Appended:
    """Records by one write each: for workers that fork for every job."""

    def __init__(self, folder: Path) -> None:
        path = folder / f"{os.getpid()}-{time.monotonic_ns()}.records"
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def write(self, *fields: int) -> None:
        os.write(self._file, RECORD.pack(*fields))


_book: Mapped | Appended | None = None
_opening = threading.Lock()


def open_book(kind: type[Mapped] | type[Appended] = Mapped) -> Mapped | Appended:
    """Return this process's records, opened at the first call."""
    global _book  # noqa: PLW0603 - a process has one
    with _opening:
        if _book is None:
            _book = kind(Path(os.environ["PEERS_RECORDS"]))
        return _book


def _forget_mapped() -> None:
    global _book, _opening  # noqa: PLW0603
    _opening = threading.Lock()
    if isinstance(_book, Mapped):  # the slots are the parent's
        _book = None


os.register_at_fork(after_in_child=_forget_mapped)


def run(payload: Mapping[str, Any]) -> None:
    """Do the job: sleep as told and record it."""
    began = _begin(payload)
    if payload["ms"]:
        time.sleep(payload["ms"] / 1000)
    _record(payload, began, time.monotonic_ns(), ENDED)


async def run_async(payload: Mapping[str, Any]) -> None:
    """Do the job in an event loop."""
    began = _begin(payload)
    if payload["ms"]:
        await asyncio.sleep(payload["ms"] / 1000)
    _record(payload, began, time.monotonic_ns(), ENDED)


def _begin(payload: Mapping[str, Any]) -> int:
    began = time.monotonic_ns()
    if payload["note"]:
        _record(payload, began, 0, STARTED)
    return began


def _record(payload: Mapping[str, Any], began: int, ended: int, mark: int) -> None:
    book = _book or open_book()
    book.write(payload["at"], began, ended, payload["id"], payload["rival"], mark)


async def produce(peer: Peer, order: Order) -> float:
    """Enqueue an order; returns the seconds without connecting."""
    await _settle(peer.connect())
    ids = range(order.first, order.first + order.jobs)
    began = time.monotonic()
    if order.bulk:
        for start in range(0, order.jobs, CHUNK):
            rows = [payload_of(order, i) for i in ids[start : start + CHUNK]]
            await _settle(peer.enqueue_many(rows))
    else:
        waits = inspect.iscoroutinefunction(peer.enqueue)
        for n, i in enumerate(ids):
            if order.gap_ms:
                await asyncio.sleep(began + n * order.gap_ms / 1000 - time.monotonic())
            sent: Any = peer.enqueue(payload_of(order, i))
            if waits:
                await sent
    seconds = time.monotonic() - began
    await _settle(peer.close())
    return seconds


async def _settle(result: object) -> None:
    if inspect.isawaitable(result):
        await result


async def together(call: Callable[[Payload], Awaitable[object]], rows: Sequence[Payload]) -> None:
    """Await one call a row, IN_FLIGHT of them at a time."""
    for start in range(0, len(rows), IN_FLIGHT):
        await asyncio.gather(*map(call, rows[start : start + IN_FLIGHT]))


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the installed versions."""
    return {name: version(name) for name in packages}


def become(module: str, *arguments: object) -> None:
    """Turn this process into `python -m MODULE ARGUMENTS`: the queue's own command."""
    os.execv(sys.executable, [sys.executable, "-m", module, *map(str, arguments)])
