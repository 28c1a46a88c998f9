"""Loads: averages of what looks showed, and which groups the worker time belongs to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from queuepool.models.advice import Loads
from queuepool.models.doctor import Checkup, Running, ServerFigures
from queuepool.telemetry.advice.averages import Shares
from queuepool.telemetry.advice.loads import MOST_PARTS, LoadHistory
from queuepool.telemetry.doctor import Place
from tests.unit.telemetry.doctor import queues as q
from tests.unit.telemetry.doctor.queues import NOW

EVERY_S = 5
A, B = Running(7, b"a"), Running(8, b"b")


def shown(look: int, number: int = 0, **changes: Any) -> Place:
    """Return a partition that got 100 jobs and ended 60 in each second."""
    passed_s = EVERY_S * look
    counters = {"enqueued": 100 * passed_s, "done": 50 * passed_s, "died": 10 * passed_s}
    checkup = Checkup(now_ms=NOW + 1000 * passed_s, sample=(A, A, A, B))
    known: dict[str, Any] = {
        "checkup": checkup, "counters": counters, "service_s": 0.02, "bytes": 1_000 * passed_s,
        "owner": q.owner(busy=1),
    }  # fmt: skip
    return q.place(number, **known | changes)


def server(look: int, **changes: Any) -> ServerFigures:
    passed_s = EVERY_S * look
    known = {"cpu_s": 9.0 + 0.5 * passed_s, "calls": 2_000 * passed_s, "used": 10**6 * passed_s}
    return q.server(**known | changes)


def looked(
    places: Any = lambda look: (shown(look),), servers: Any = lambda look: (server(look),)
) -> Loads:
    history = LoadHistory()
    for look in range(21):
        now_ms = NOW + 1000 * EVERY_S * look
        seen = q.healthy(places=places(look), servers=servers(look), now_ms=now_ms)
        loads = history.add(replace(seen, spare=("big",)))
    return loads


def test_what_came_ended_and_ran_is_an_average_of_all_looks() -> None:
    loads = looked()

    [place] = loads.places
    assert (loads.over_s, loads.spare) == (100.0, ("big",))
    assert place.came == pytest.approx(100)
    assert place.ended == pytest.approx(60)
    assert place.growth == pytest.approx(1_000)
    assert place.busy == pytest.approx(1)
    assert place.wanted == pytest.approx(2)  # 100 jobs of 20 ms each second
    assert [(part.slot, part.group, round(part.share, 3)) for part in place.parts] == [
        (7, b"a", 0.75), (8, b"b", 0.25),
    ]  # fmt: skip
    assert place.slots == {7: pytest.approx(1.5), 8: pytest.approx(0.5)}


def test_a_server_tells_time_calls_and_growth() -> None:
    [found] = looked().servers

    assert found.cpu == pytest.approx(0.5)
    assert found.calls == pytest.approx(2_000)
    assert found.growth == pytest.approx(10**6)
    assert found.partitions == (0,)


def test_a_server_that_tells_no_time_or_restarted_is_not_judged_by_it() -> None:
    assert looked(servers=lambda look: (server(look, cpu_s=0.0),)).servers[0].cpu is None
    assert looked(servers=lambda look: (server(look, clustered=True),)).servers[0].cpu is None
    new = looked(servers=lambda look: (server(look, run_id=str(look)),)).servers[0]
    assert (new.cpu, new.calls) == (0.0, 0.0)
    away = looked(servers=lambda look: (server(look, problem="away"),))
    assert (away.servers, away.silent) == ((), {"main": "away"})
    assert looked().silent == {}


def test_other_pools_and_places_that_do_not_answer_are_left_out() -> None:
    loads = looked(
        lambda look: (
            shown(look),
            shown(look, 1, pool="video"),
            replace(shown(look, 2), state=None),
        )
    )

    assert [place.partition for place in loads.places] == [0]


def test_without_an_owner_nobody_is_busy() -> None:
    [place] = looked(lambda look: (shown(look, owner=q.owner(lease_ms=0, busy=3)),)).places

    assert (place.workers, place.busy) == (0, 0.0)


def test_a_counter_that_fell_back_began_again() -> None:
    def fallen(look: int) -> tuple[Place, ...]:
        return (shown(look, counters={"enqueued": 9_999 - look, "done": 9_999 - look}),)

    [place] = looked(fallen).places
    assert (place.came, place.ended) == (0.0, 0.0)


def test_one_look_at_a_partition_counts_once_though_the_doctor_repeats_it() -> None:
    [place] = looked(
        lambda look: (shown(look, checkup=Checkup(now_ms=NOW, sample=(A,) * 10)),)
    ).places

    assert place.parts == ()  # ten jobs are too few


def test_only_the_groups_met_most_are_kept() -> None:
    shares = Shares[int](most=4)
    for look in range(100):
        shares.add([1, 1, 2, 1_000 + look], 1.0)

    found = shares.shares()
    assert len(found) == 4
    assert list(found)[:2] == [1, 2]
    assert found[1] == pytest.approx(0.5)
    assert MOST_PARTS < 100
