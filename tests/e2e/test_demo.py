"""`queuepool demo` with few items: everything but the time it takes."""

from pathlib import Path

import pytest

from queuepool.cli.exits import Exit
from tests.e2e.clusters import run

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("demo"), pytest.mark.timeout(240)]


def test_the_demo_loses_nothing_and_its_workers_rise(tmp_path: Path) -> None:
    done = run(tmp_path, "demo", "--items", "2000", "--json", timeout_s=200)

    assert done.code == Exit.OK, done.err
    summary = done.last
    assert summary["lost"] == summary["unexpected"] == 0
    assert summary["items"] >= 2000
    assert summary["bulk_items"] == 2000
    assert max(summary["per_partition_worker_peak"].values()) >= 16
    assert summary["commands_sent"] > 0
    assert 0 <= summary["small_group_wait_p50_s"] <= summary["small_group_wait_p99_s"]
    assert done.out.count("\n") == 1
    assert "\x1b" not in done.err
    assert "small groups waited" in done.err
    assert list(tmp_path.iterdir()) == []
