"""What pools know of each other, from which each finds its part of one budget."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.core.model import PartitionView
from coordinator.core.overlays.values import Overrides, ScaleMode
from coordinator.core.planner import Planner
from coordinator.loop.pools_budget import BudgetOfPools
from coordinator.policy import make_policy
from tests.unit.coordinator.observed import owner, state


def view(target: int, *, vacant: bool = False, **known: Any) -> PartitionView:
    plain: dict[str, Any] = {"problem": "", "manual_until_ms": None, **known}
    return PartitionView(
        partition=0,
        server="main",
        state=state(None if vacant else owner(8), backlog=99),
        seen_s=0.0,
        finished_per_s=0.0,
        target=target,
        **plain,
    )


def planner(**set_: Any) -> Planner:
    return Planner(policy=make_policy("static"), overrides=Overrides(**set_))


@pytest.mark.parametrize(
    ("views", "mode", "left"),
    [
        ([view(9), view(9)], ScaleMode.AUTO, 15),
        ([view(1) for _ in range(8)], ScaleMode.AUTO, 12),
        ([view(9, manual_until_ms=1)], ScaleMode.AUTO, 11),
        ([view(9, problem="it cannot be reached")], ScaleMode.AUTO, 11),
        ([view(9)], ScaleMode.MANUAL, 11),
    ],
)
def test_a_pool_has_what_cannot_be_taken_from_another(
    views: list[PartitionView], mode: ScaleMode, left: int
) -> None:
    """Without that, `default` has 5 of 20 workers, and `video` 15."""
    budget, video = BudgetOfPools(), planner(share=3)
    budget.note("default", views, planner(total_budget=20, mode=mode))
    budget.note("video", [view(15)], video)

    room = budget.planner_of("video", video).room

    assert room is not None
    assert (room.workers, room.total) == (left, 20)


def test_what_a_pool_had_where_no_consumer_owns_it_is_for_the_others() -> None:
    """Its jobs cannot start there: they claim no part of what is unused either."""
    budget, plain = BudgetOfPools(), planner()
    budget.note("video", [view(64, vacant=True) for _ in range(3)], planner(share=9))
    budget.note("default", [view(8)], planner(total_budget=100))

    room = budget.planner_of("default", plain).room

    assert room is not None
    assert room.workers == 100


def test_a_pool_that_gets_more_than_the_budget_of_all_is_told_why() -> None:
    budget, plain = BudgetOfPools(), planner(total_budget=1)
    budget.note("default", [view(9) for _ in range(3)], plain)

    found = budget.planner_of("default", plain).budget(None)

    assert found == (3, "for this pool, the fewest that it can have, of 1 for all pools")


def test_without_a_budget_of_all_a_planner_stays_as_it_is() -> None:
    budget, plain = BudgetOfPools(), planner()
    budget.note("default", [view(9)], plain)

    assert budget.planner_of("default", plain) is plain
