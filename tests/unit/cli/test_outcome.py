"""What the jobs of `queuepool bulk --wait` came to: every row is in one of the numbers."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from queuepool.cli.exits import Exit
from queuepool.cli.rows import outcome
from queuepool.models import GroupStatus

NONE = GroupStatus(total=0, ready=0, delayed=0, in_flight=0, done=0, dead=0, cancelled=0)


@pytest.mark.parametrize("end", ["evicted", "discarded", "expired"])
def test_jobs_that_ended_without_a_run_are_named(
    end: str, capsys: pytest.CaptureFixture[str]
) -> None:
    changes: dict[str, Any] = {end: 1_200}
    after = replace(NONE, total=1_203, done=3, **changes)
    summary = outcome.so_far({"enqueued": 1_203, "key": "k"}, NONE, time.monotonic(), after)
    group: Any = None  # of which nothing died

    summary["died"] = 0
    assert outcome.report(summary, group, None, as_json=False) is Exit.OK

    assert f"3 done, 0 dead, 1,200 {end}, 0 cancelled in" in capsys.readouterr().out
