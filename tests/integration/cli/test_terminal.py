"""Commands on a real terminal of 80 columns."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import pytest

from queuepool import PoolConfig, QueuePool
from queuepool.partitions.partition import OwnedPartition
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import single
from tests.paths import ROOT

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def on_a_terminal(words: list[str], environment: dict[str, str], columns: int) -> str:
    """Return what a command shows on a terminal of so many columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = {k: v for k, v in os.environ.items() if not k.startswith(("QUEUEPOOL_", "COLUMNS"))}
    env |= {"TERM": "xterm-256color", "PYTHONPATH": str(ROOT), **environment}
    command = subprocess.Popen(
        [sys.executable, "-m", "queuepool", *words], stdin=theirs, stdout=theirs, stderr=theirs,
        env=env, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # it ended
            break
        if not part:
            break
        seen += part
    os.close(ours)
    assert command.wait(60) == 0, seen.decode()
    return _ESCAPES.sub("", seen.decode())


@pytest.mark.parametrize("columns", [60, 80])
def test_watch_shows_every_partition_whole(redis_url: str, stage: str, columns: int) -> None:
    config = PoolConfig(topology=single(redis_url, 6), keyspace=Keyspace(stage=stage))
    host = "queuepool-consumer-7d9f8b6c5d-x2x9z:12345"
    with QueuePool(config=config) as pool:
        for partition in pool.partitions():
            assert isinstance(partition.acquire(lease_s=60, host=host), OwnedPartition)
    environment = {
        "QUEUEPOOL_URL": redis_url, "QUEUEPOOL_STAGE": stage, "QUEUEPOOL_PARTITIONS": "6"
    }  # fmt: skip

    words = ["watch", "--interval", "100ms", "--for", "300ms"]
    seen = on_a_terminal(words, environment, columns)

    assert "…" not in seen
    for number in range(6):
        assert re.search(rf"^{number} +yes +0 ", seen, re.MULTILINE), seen
    assert "6 of 6" in seen
