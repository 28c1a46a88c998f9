"""When a child is replaced, and when it is killed."""

import pytest

from consumer.workers.processes.bounds import Bounds

MIB = 2**20


@pytest.mark.parametrize(
    ("bounds", "jobs", "rss", "why"),
    [
        (Bounds(), 10**6, 10**12, None),
        (Bounds(max_jobs=3), 2, 0, None),
        (Bounds(max_jobs=3), 3, 0, "max_jobs"),
        (Bounds(max_rss_bytes=100 * MIB), 1, 75 * MIB, None),
        (Bounds(max_rss_bytes=100 * MIB), 1, 76 * MIB, "memory"),
        (Bounds(max_jobs=1, max_rss_bytes=100 * MIB), 1, 76 * MIB, "memory"),
    ],
)
def test_a_child_is_replaced_when_it_ran_or_grew_enough(
    bounds: Bounds, jobs: int, rss: int, why: str | None
) -> None:
    assert bounds.why_replace(jobs, rss) == why


def test_only_a_child_above_its_bound_is_killed() -> None:
    bounds = Bounds(max_rss_bytes=100 * MIB)

    assert bounds.why_kill(100 * MIB) is None
    assert Bounds().why_kill(10**12) is None
    assert "used 101 MiB of memory" in (bounds.why_kill(101 * MIB) or "")
