"""When the page says that all jobs will have ended, and where it cannot say."""

from types import SimpleNamespace
from typing import Any

import pytest

from queuepool.web.pages import scaling
from tests.unit.web.coordinator import state


def test_what_if_foretells_the_end_of_all_partitions_together() -> None:
    draining = state(0, backlog=0, service_s=1.0, in_flight=8)
    look = SimpleNamespace(places=[draining] * 64)

    [(_, jobs_, workers, ends), _] = scaling.answers(look, 8)

    assert (jobs_, workers) == ("512", "512")
    assert ends == "5.4s to 9.7s"  # -log(1 - p^(1/512)), with p = 9 % and 97 %


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"owned": False, "backlog": 9}, "unknown: partition 1/video has no owner"),
        ({"error": "TimeoutError"}, "unknown: partition 1/video cannot be read"),
        ({"stale": True}, "unknown: partition 1/video cannot be read"),
        ({"owned": False}, "5.4s"),
    ],
)
def test_what_if_foretells_no_end_of_jobs_that_may_not_run(other: Any, why: str) -> None:
    draining = state(0, backlog=0, service_s=1.0, in_flight=8)
    look = SimpleNamespace(places=[draining] * 64 + [state(1, pool="video", **other)])

    for _, _, _, ends in scaling.answers(look, 8):
        assert ends.startswith(why)
