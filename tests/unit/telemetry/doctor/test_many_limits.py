"""Of more limits than can be looked at, those come first for which the most jobs wait."""

from __future__ import annotations

import pytest

from queuepool import Limit
from queuepool.client import checkup
from queuepool.models.doctor import Verdict
from queuepool.testing.pool import MemoryPool


def judged(waiting: dict[str, int], *, idle: int = 0) -> Verdict:
    """Return the verdict on limits of one job a second, and on idle ones that come before them."""
    pool = MemoryPool(1)
    for name in (*waiting, *(f"account:{n}" for n in range(idle))):
        pool.limits.set(Limit(name, rate=1))
    for name, jobs in waiting.items():
        pool.enqueue_many("t", [{}] * jobs, partition_key="k", limit=name)
    return pool.doctor()


def skipped(verdict: Verdict) -> list[str]:
    return [one.why for one in verdict.unjudged if one.kind == "limit"]


def test_a_limit_behind_a_hundred_idle_ones_is_found() -> None:
    verdict = judged({"zz": 3_600}, idle=120)

    assert [one.subject for one in verdict.findings if one.kind == "limit"] == ["limit zz"]
    assert skipped(verdict) == []


def test_of_too_many_limits_with_waiting_jobs_the_rest_is_named_as_skipped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checkup, "LIMITS", 2)

    verdict = judged({"a": 1, "b": 2, "zz": 3_600})

    assert [one.subject for one in verdict.findings if one.kind == "limit"] == ["limit zz"]
    assert skipped(verdict) == ["in part, since jobs wait for 3 limits, and only 2 were looked at"]
