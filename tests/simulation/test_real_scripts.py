"""A few seeds over the real scripts on a real server, where the simulation meets Redis."""

from __future__ import annotations

import pytest

from tests.sampling import first_of
from tests.simulation.simulation import simulate

SEEDS = (114, 3, 5, 18)  # 18 and 114 with holds, caps, unique keys and expiry


@pytest.mark.parametrize("seed", first_of(SEEDS))
def test_a_seed_keeps_its_promises_on_a_real_server(seed: int, redis_url: str, stage: str) -> None:
    for attempt in range(3):  # when the machine stops us amid a call, its server's time goes on
        result = simulate(seed, url=redis_url, stage=f"{stage}-{attempt}")
        if not result.violations:
            break

    assert not result.violations, result.violations[:5]
    assert result.journal.terminals
