"""Seeds of slots that move while everything else goes on."""

from __future__ import annotations

import pytest

from tests.simulation.moves import simulate_moves

pytestmark = pytest.mark.thorough

# Each block takes some 20 s of CPU time, so that it ends in time beside other tests
_MANY = [range(first, first + 31) for first in range(8, 1000, 31)]


@pytest.mark.parametrize(
    "seeds",
    [range(8), *(pytest.param(some, marks=pytest.mark.slow) for some in _MANY)],
    ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}",
)
def test_every_promise_is_kept_while_slots_move(seeds: range) -> None:
    for seed in seeds:
        assert simulate_moves(seed) == [], f"seed {seed}"
