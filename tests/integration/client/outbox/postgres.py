"""A server of PostgreSQL for tests, which can be killed and started again."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import psycopg
import pytest

from tests.waiting import wait_until

_BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))


class Postgres:
    """A server in a directory of its own. Skips the test where PostgreSQL is not installed."""

    def __init__(self) -> None:
        initdb, self._server = _command("initdb"), _command("postgres")
        self._directory = Path(tempfile.mkdtemp(prefix="outbox-"))
        if os.geteuid() == 0:
            shutil.chown(self._directory, "postgres")
        self._data = str(self._directory / "data")
        self._process: subprocess.Popen[bytes] | None = None
        options = ["-A", "trust", "-U", "app", "-N", "--locale=C", "-E", "UTF8"]
        subprocess.run(
            [*initdb, "-D", self._data, *options],
            check=True, capture_output=True, timeout=120, cwd="/",
        )  # fmt: skip

    @property
    def url(self) -> str:
        return f"postgresql://app@/postgres?host={self._directory}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        where = ["-D", self._data, "-h", ""]  # a socket in its directory, and no port to lose
        self._process = subprocess.Popen(
            [*self._server, *where, "-k", str(self._directory)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/",
        )  # fmt: skip
        wait_until(self._answers, 60)

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url, connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def kill(self) -> None:
        """End it as a power loss would, for all its processes."""
        self._end(signal.SIGQUIT)

    def stop(self) -> None:
        """End it, and remove its data. Idempotent."""
        self._end(signal.SIGINT)
        shutil.rmtree(self._directory, ignore_errors=True)

    def _end(self, number: int) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(60)
            self._process = None


def _command(name: str) -> list[str]:
    """Return how to run a program of PostgreSQL, which refuses to run as root."""
    found = shutil.which(name) or next((str(b / name) for b in _BINARIES[::-1]), None)
    if found is None or not Path(found).exists():
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    return [*(as_user if os.geteuid() == 0 else ()), found]
