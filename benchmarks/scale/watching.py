"""The web page of a queue of many partitions and groups that all change, and its watchers."""

from __future__ import annotations

import re
import select
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from statistics import median
from time import monotonic
from typing import Any
from urllib.parse import urlencode, urlsplit

from benchmarks.owners import report, take_over
from benchmarks.rig import Rig, rig
from benchmarks.scale import filling
from benchmarks.scale.processes import Seen, coordinating, running
from benchmarks.scale.rows import Row

_TOKEN = "benchmark-token-0001"  # noqa: S105 - opens nothing but this benchmark
_NAME = "page"  # of the connections of its process
_LOADS, _WATCHERS, _WATCH_S = 15, 100, 20.0
_PATHS = (
    *("/", "/partition/3", "/groups", "/group?key=g7", "/find?state=ready", "/find?state=dead"),
    *("/errors", "/scaling", "/limits", "/schedules", "/flows", "/log", "/system"),
)


class Browser:
    """Signs in, loads pages, watches them."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._where, self._cookies = (parts.hostname or "", parts.port or 0), dict[str, str]()
        mark = re.search(rb'name="_form" value="([0-9a-f]+)"', self.load("/login")[0])
        if mark is None:
            raise RuntimeError("the page has no form to sign in")
        self.load("/login", urlencode({"token": _TOKEN, "_form": mark[1].decode()}))

    def load(self, path: str, form: str | None = None) -> tuple[bytes, float]:
        """Return a page, and the seconds until its first byte."""
        line = HTTPConnection(*self._where, timeout=60)
        headers = self._headers()
        if form is not None:
            headers |= {"Content-Type": "application/x-www-form-urlencoded"}
            headers |= {"Origin": "http://{}:{}".format(*self._where)}
        began_s = monotonic()
        line.request("GET" if form is None else "POST", path, form, headers)
        answer = line.getresponse()
        first_s = monotonic() - began_s
        for text in answer.headers.get_all("set-cookie", []):
            name, _, value = text.partition(";")[0].partition("=")
            self._cookies[name] = value
        body = answer.read()
        line.close()
        if answer.status not in (200, 303):
            raise RuntimeError(f"{path}: {answer.status} {body[:300]!r}")
        return body, first_s

    def watch(self) -> socket.socket:
        """Return a connection on which updates of the overview arrive."""
        line = socket.create_connection(self._where)
        head = [f"{name}: {value}\r\n" for name, value in self._headers().items()]
        line.sendall(f"GET /live HTTP/1.1\r\nHost: localhost\r\n{''.join(head)}\r\n".encode())
        return line

    def _headers(self) -> dict[str, str]:
        cookie = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        return {"Accept": "text/html", "Cookie": cookie}


def page(scale: float) -> Iterator[Row]:
    """Measure pages, updates, and what watchers cost."""
    partitions, groups = max(20, int(1_000 * scale)), max(2_000, int(100_000 * scale))
    with rig(partitions) as r, _busy(r, groups), coordinating(r.server.url, partitions) as told:
        coordinator = told[0]
        api = coordinator.says(r"grpc=(\S+)")[1]
        words = {
            "QUEUEPOOL_URL": f"{r.server.url}?client_name={_NAME}",
            "QUEUEPOOL_PARTITIONS": str(partitions),
            "QUEUEPOOL_GRPC": api, "QUEUEPOOL_WEB_TOKEN": _TOKEN, "QUEUEPOOL_WEB_PORT": "0",
        }  # fmt: skip
        with running("queuepool", "web", **words) as web:
            browser = Browser(web.says(r"(http://\S+/)")[1])
            what = f"{partitions:,} partitions, {groups:,} groups"
            yield from _pages(browser, web, what)
            yield from _watched(r, browser, coordinator, web, what)


@contextmanager
def _busy(r: Rig, groups: int) -> Iterator[None]:
    """Have groups and limits, and change every partition once a second until the end."""
    filling.ready(r, groups, 1)
    owners = [take_over(partition) for partition in r.pool.partitions()]
    ended = threading.Event()

    def change() -> None:
        n = 0
        while not ended.wait(1):
            rows = [{"i": n + i} for i in range(2 * len(owners))]
            r.pool.enqueue_many("noop", rows, partition_key=lambda row: f"new-{row['i']}")
            report(owners)
            n += len(rows)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _pages(browser: Browser, web: Seen, what: str) -> Iterator[Row]:
    first_ms, cpu_ms, size_kb = {}, {}, {}
    for path in _PATHS:
        spent_s = web.cpu_s()
        loads = [browser.load(path) for _ in range(_LOADS)]
        cpu_ms[path] = 1000 * (web.cpu_s() - spent_s) / _LOADS
        first_ms[path] = 1000 * median(s for _, s in loads)
        size_kb[path] = max(len(text) for text, _ in loads) / 1000
    for name, found, unit in (
        ("first byte", first_ms, "ms"), ("CPU", cpu_ms, "ms"), ("size", size_kb, "kB"),
    ):  # fmt: skip
        worst = max(_PATHS, key=lambda path: found[path])
        yield Row(f"the page, {name}, at most ({worst}), {what}", found[worst], 100, unit)


def _watched(r: Rig, browser: Browser, coordinator: Seen, web: Seen, what: str) -> Iterator[Row]:
    spent: dict[int, tuple[float, ...]] = {}
    updates: list[int] = []

    def cpu() -> tuple[float, ...]:
        lines: Any = r.client.client_list()
        commands = sum(int(line["tot-cmds"]) for line in lines if line["name"] == _NAME)
        return coordinator.cpu_s(), web.cpu_s(), float(commands)

    for count in (0, _WATCHERS):
        lines = [browser.watch() for _ in range(count)]
        _read(lines, 3.0)
        before, began_s = cpu(), monotonic()
        updates += _read(lines, _WATCH_S)
        took_s = monotonic() - began_s
        spent[count] = tuple((b - a) / took_s for a, b in zip(before, cpu(), strict=True))
        for line in lines:
            line.close()
    leader, ours, _ = (b - a for a, b in zip(*spent.values(), strict=True))
    commands = spent[_WATCHERS][2]
    yield Row(f"an update of the overview at most, {what}", max(updates) / 1000, 5, "kB")
    yield Row(f"{_WATCHERS} watchers, commands to servers, {what}", commands, 0, "a second")
    yield Row(f"{_WATCHERS} watchers, coordinator, {what}", 100 * leader, 10, "% of a core")
    yield Row(f"{_WATCHERS} watchers, process of the page, {what}", 100 * ours, 10, "% of a core")


def _read(lines: Sequence[socket.socket], seconds: float) -> list[int]:
    """Read from all connections for so long; return the sizes of updates that came on the first."""
    texts, until_s = bytearray(), monotonic() + seconds
    while (left_s := until_s - monotonic()) > 0:
        for line in select.select(lines, [], [], left_s)[0]:
            part = line.recv(2**18)
            if not part:
                raise RuntimeError("the page ended a stream")
            if line is lines[0]:
                texts += part
    events = bytes(texts).split(b"data:")[1:]
    return [len(event) for event in events]
