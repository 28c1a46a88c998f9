"""Two pools of one partition in the simulation: separate owners and lanes, the same limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from consumer.core.owner import Core
from queuepool.models import Limit
from queuepool.models.places import DEFAULT_POOL
from queuepool.verbs.owner.replies import Acquired
from tests.simulation.__main__ import replay
from tests.simulation.limiting import Limits
from tests.simulation.scenario import POOL, Faults, draw
from tests.simulation.simulation import Simulation, simulate

MOST_SEEDS = 200


def seeds() -> Iterator[int]:
    """Yield the seeds that have another pool in the partition."""
    return (seed for seed in range(MOST_SEEDS) if draw(seed).pool)


def test_pools_are_taken_over_each_for_itself() -> None:
    """Both, and one alone; also where both name the same limits."""
    wanted, limited = {(True, True), (True, False)}, False

    for seed in seeds():
        simulation = Simulation(draw(seed))
        result = simulation.run()

        assert not result.violations, f"{result.violations[:5]}\nreplay: {replay(seed)}"
        here, there = result.journal, simulation.neighbours[0].journal
        assert here.executions
        assert there.executions
        wanted.discard((len(set(here.epochs)) > 1, len(set(there.epochs)) > 1))
        limited = limited or all(any(one.limits_of.values()) for one in (here, there))
        if limited and not wanted:
            return

    raise AssertionError(f"never met: {wanted}, limits of both: {limited}")


class MixesPoolsUp(Core):
    """Asks the homes of limits as the default pool, whatever its pool."""

    def __init__(self, acquired: Acquired, *given: Any, **named: Any) -> None:
        ownership = replace(acquired.ownership, pool=DEFAULT_POOL)
        super().__init__(replace(acquired, ownership=ownership), *given, **named)


def test_a_core_that_mixes_pools_up_is_found() -> None:
    """Its successor in one pool frees what still runs in the other."""
    busy: dict[str, Any] = {
        "pool": POOL,
        "limits": Limits(code=(Limit("one", concurrency=1),)),
        "faults": Faults(kills=(2.0, 5.0, 8.0)),
        "jobs": 12,
        "calls": 1,
        "spread_s": 0.0,
        "delayed": 0.0,
        "job_s": (0.5, 2.0),
        "extras": None,
    }

    found = (simulate(seed, new_core=MixesPoolsUp, **busy).violations for seed in range(9))

    assert any("I11" in violation for one in found for violation in one)
