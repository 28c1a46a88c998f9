"""Handlers are not shown what controls the cluster, even if their consumer was given it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from queuepool.cli.exits import Exit
from queuepool.process.launching import OF_OPERATORS
from tests.e2e.clusters import clean_environment

SPY = """
import os
from pathlib import Path

print(*sorted(os.environ))
print(Path("/proc/self/environ").read_text().replace("\\0", " "))
"""


@pytest.mark.parametrize(("program", "lines"), [("queuepool consumer", 2), ("consumer", 1)])
def test_the_code_of_a_consumer_finds_no_secret_of_operators(
    tmp_path: Path, redis_url: str, program: str, lines: int
) -> None:
    (tmp_path / "spy.py").write_text(SPY)
    secrets = dict.fromkeys(OF_OPERATORS, "s3cret")
    environment = clean_environment(QUEUEPOOL_URL=redis_url, CONSUMER_LEASE_S="9", **secrets)

    done = subprocess.run(
        [sys.executable, "-m", *program.split(), "--app", "spy"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == Exit.USAGE, done.stderr  # the spy has no task
    seen = done.stdout.splitlines()[:lines]
    assert len(seen) == lines
    for line in seen:
        assert "CONSUMER_LEASE_S" in line
        assert [name for name in OF_OPERATORS if name in line] == []
