"""A few seeds over the real scripts on a real server, where the simulation meets Redis."""

from __future__ import annotations

import pytest

from tests.simulation.simulation import simulate

SEEDS = (3, 5, 18, 114)  # the last two with holds, caps, unique keys and expiry


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seed_keeps_its_promises_on_a_real_server(seed: int, redis_url: str, stage: str) -> None:
    result = simulate(seed, url=redis_url, stage=stage)

    assert not result.violations, result.violations[:5]
    assert result.journal.terminals
