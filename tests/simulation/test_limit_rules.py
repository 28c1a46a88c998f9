"""Seeds with limits: a product that breaks one of their rules does not get through."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from consumer.core.limits.earlier import EarlierPermits
from consumer.core.limits.share import Share
from queuepool.testing import limiting
from queuepool.testing.gates import Gates
from tests.sampling import first_of
from tests.simulation import simulation
from tests.simulation.scenario import Faults, draw
from tests.simulation.simulation import simulate

MOST_SEEDS = 400
CRASHES = {"faults": Faults(kills=(1.0, 3.0, 5.0, 7.0, 9.0, 11.0)), "job_s": (0.2, 1.0)}
DRAINS = {
    "faults": Faults(drains=(1.0, 3.0, 5.0, 7.0, 9.0, 11.0)),
    "job_s": (0.5, 3.0),
    "drain_s": 5.0,
    "consumers": 2,
}
LOST = {"faults": Faults(lose=0.25, drop=0.1)}
Patch = pytest.MonkeyPatch


def seeds() -> Iterator[int]:
    """Yield the seeds that have limits."""
    return (seed for seed in range(MOST_SEEDS) if draw(seed).limits is not None)


@pytest.mark.slow
def test_the_seeds_meet_all_that_may_happen_to_limits() -> None:
    met: set[str] = set()

    for seed in list(seeds())[:40]:
        result = simulate(seed)
        limits = result.scenario.limits
        assert limits is not None
        met |= result.journal.seen.keys() & {"told to wait"}
        met |= {"neighbours"} if limits.neighbours else set()
        met |= {"outages"} if limits.outages else set()
        met |= {"set" if change.limit else "pause" for change in limits.changes}
        met |= {"rate" for limit in limits.code if limit.rate}
        met |= {"concurrency" for limit in limits.code if limit.concurrency}

    assert met == {
        "told to wait", "neighbours", "outages", "set", "pause", "rate", "concurrency",
    }  # fmt: skip


def permits_for_all(patch: Patch) -> None:
    patch.setattr(limiting._Asker, "share", lambda self: self.total)


def tokens_for_all(patch: Patch) -> None:
    book = limiting._Asker.book

    def generous(self: Any) -> tuple[int, int, float, bool]:
        _, first, apart, _ = book(self)
        self.again = 0
        return self.wants, min(first, self.us), apart / 100, False

    patch.setattr(limiting._Asker, "book", generous)


def permits_of_the_dead_freed_at_once(patch: Patch) -> None:
    init = EarlierPermits.__init__

    def hasty(self: EarlierPermits, ownership: Any) -> None:
        init(self, ownership)
        self.on_quiet(used=True)

    patch.setattr(EarlierPermits, "__init__", hasty)


def permits_of_the_dead_kept(patch: Patch) -> None:
    patch.setattr(EarlierPermits, "on_quiet", lambda *_args, **_how: None)


def no_ask_after_a_lost_one(patch: Patch) -> None:
    def silent(self: Share, now_s: float) -> None:
        self.asked, self._retry_s = None, now_s + 10_000

    patch.setattr(Share, "on_failure", silent)


def a_parked_job_is_lost(patch: Patch) -> None:
    next_seat = Gates.next_seat

    def once(self: Gates, gate: bytes) -> Any:
        lane = next_seat(self, gate)
        return next_seat(self, gate) if lane and lane[0] == 0 else lane

    patch.setattr(Gates, "next_seat", once)


@pytest.mark.parametrize(
    ("breaks", "words", "changes"),
    first_of(
        [
            (permits_for_all, "ran at", {}),
            (tokens_for_all, "were admitted", {}),
            (permits_of_the_dead_freed_at_once, "ran at", DRAINS),
            (permits_of_the_dead_kept, "permits of", CRASHES),
            (no_ask_after_a_lost_one, "stuck", LOST),
            (a_parked_job_is_lost, "stuck", {}),
        ]
    ),
)
def test_a_broken_rule_is_found(
    breaks: Callable[[Patch], None], words: str, changes: dict[str, Any], monkeypatch: Patch
) -> None:
    monkeypatch.setattr(simulation, "_MAX_EVENTS", 60_000)
    with monkeypatch.context() as broken:
        breaks(broken)
        found = (s for s in seeds() if any(words in w for w in simulate(s, **changes).violations))
        seed = next(found)

    assert not [wrong for wrong in simulate(seed, **changes).violations if words in wrong]
