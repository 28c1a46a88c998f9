"""What someone without a token does to the process of the page: it answers others meanwhile."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.paths import ROOT
from tests.waiting import wait_until

FILES = 120  # descriptors that the process may have; it keeps a third of them for connections
FLOOD = 150
_SERVE = f"""
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, ({FILES}, {FILES}))
from queuepool.cli import main
raise SystemExit(main(["web"]))
"""
HEAD = (
    b"POST /login HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\n"
)


class PageProcess:
    """`queuepool web` of a queue whose server is not there."""

    def __init__(self, directory: Path) -> None:
        ours = ("QUEUEPOOL_", "CONSUMER_", "COORDINATOR_")
        env = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
        env |= {
            "QUEUEPOOL_URL": "redis://127.0.0.1:1",
            "QUEUEPOOL_WEB_PORT": "0",
            "QUEUEPOOL_WEB_TOKEN": "t" * 20,
            "PYTHONPATH": str(ROOT),
        }
        self._log = directory / "log"
        with self._log.open("w") as log:
            self.popen = subprocess.Popen(
                [sys.executable, "-c", _SERVE], env=env, stdout=log, stderr=log, cwd=directory
            )
        wait_until(lambda: "startup complete" in self.log, 60, "it listens")
        self.port = int(re.findall(r"http://127.0.0.1:(\d+)/", self.log)[0])

    @property
    def log(self) -> str:
        return self._log.read_text()

    def flood(self, sent: bytes) -> list[socket.socket]:
        """Open connections, each of which sends this and nothing more."""
        held = []
        for _ in range(FLOOD):
            client = socket.create_connection(("127.0.0.1", self.port), 60)
            held.append(client)
            with suppress(OSError):  # it had to make way
                client.sendall(sent)
        return held

    def answers(self) -> int:
        """Ask for the form to sign in."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/login", timeout=60) as answer:
            return int(answer.status)


@pytest.fixture
def page(tmp_path: Path) -> Iterator[PageProcess]:
    made = PageProcess(tmp_path)
    yield made
    made.popen.kill()
    made.popen.wait(60)


def test_connections_of_strangers_lock_nobody_out_and_fill_no_log(page: PageProcess) -> None:
    floods = (
        b"",
        b"GET / HTTP/1.1\r\nHost:",
        HEAD + b"Content-Length: 9999\r\n\r\nx",
        b"\x16\x03\x01 not http\r\n\r\n",
        b"GET /static/page.css HTTP/1.1\r\nHost: localhost\r\n\r\n",
    )
    for sent in floods:
        held = page.flood(sent)
        assert page.answers() == 200, sent
        for client in held:
            client.close()
        assert page.answers() == 200, sent

    assert "Traceback" not in page.log
    assert len(page.log.splitlines()) < 30, page.log


def test_a_form_of_a_stranger_is_small(page: PageProcess) -> None:
    with socket.create_connection(("127.0.0.1", page.port), 60) as client:
        client.sendall(HEAD + b"Content-Length: 2000000\r\n\r\n" + b"x=" + b"y" * 20_000)

        assert client.recv(100).startswith(b"HTTP/1.1 413")
