"""Seeds of slots that move while everything else goes on."""

from __future__ import annotations

import pytest

from tests.simulation.moves import simulate_moves

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize(
    "seeds",
    [range(20), pytest.param(range(20, 1000), marks=pytest.mark.slow)],
    ids=["few", "many"],
)
def test_every_promise_is_kept_while_slots_move(seeds: range) -> None:
    for seed in seeds:
        assert simulate_moves(seed) == [], f"seed {seed}"
