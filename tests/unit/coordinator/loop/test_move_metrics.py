"""The metrics of a move follow it from its wish to its end, in each coordinator."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from coordinator.loop.moving import Mover
from coordinator.snapshots.moves import MoveBoard
from coordinator.snapshots.store import SnapshotStore
from coordinator.telemetry.metrics import Metrics
from coordinator.telemetry.moves import Moves
from queuepool.routing.moves import asked
from queuepool.verbs.operator import verbs as operate
from tests.unit.coordinator.loop.moving import Queue


def values(board: MoveBoard) -> dict[str, float | None]:
    registry = CollectorRegistry()
    Metrics(registry, SnapshotStore(), moves=board)
    names = ("running", "slots_left", "jobs_left", "jobs_carried_total")
    return {name: registry.get_sample_value(f"queuepool_move_{name}") for name in names}


def test_what_is_left_falls_to_nothing_and_what_is_carried_is_counted(queue: Queue) -> None:
    there = queue.jobs()[1]
    none = {"running": 0, "slots_left": 0, "jobs_left": 0, "jobs_carried_total": 0}
    assert values(queue.board) == none
    queue.ask(1)

    seen = []
    while queue.look():
        seen.append(values(queue.board))

    assert all(each["running"] == 1 for each in seen)
    assert seen[0]["slots_left"] == 2048
    jobs = [each["jobs_left"] for each in seen if each["jobs_left"]]
    assert there > 0
    assert (max(filter(None, jobs)), seen[-1]["jobs_left"]) == (there, 0)
    assert (seen[-1]["slots_left"], seen[-1]["jobs_carried_total"]) == (0, there)
    assert values(queue.board) == none | {"jobs_carried_total": there}


def test_an_aborted_move_counts_what_has_to_go_back(queue: Queue) -> None:
    queue.ask(4)
    while queue.board.carried == 0:
        assert queue.look()
    queue.abort()
    before = queue.board.carried
    queue.drive()

    assert queue.board.carried >= 2 * before  # there and back
    assert values(queue.board)["jobs_left"] == values(queue.board)["slots_left"] == 0


def test_a_standby_shows_the_move_that_another_makes_but_none_of_its_jobs(queue: Queue) -> None:
    board, pool = MoveBoard(), queue.pool()
    pool.route.read()
    standby = Mover(pool, lambda: 0, board=board)
    queue.ask(1)
    while queue.board.jobs_left == 0:
        assert queue.look()
    pool.route.read()
    standby.look()

    shown = values(board)

    assert (shown["running"], shown["slots_left"]) == (1, 2048)
    assert shown["jobs_left"] == shown["jobs_carried_total"] == 0


def test_a_move_has_lasted_since_it_was_asked_for(queue: Queue) -> None:
    queue.change(lambda _: asked(queue.ops.config.topology.view, 1, at_ms=1_000_000))
    queue.look()

    def lasted(now_s: float) -> float:
        registry = CollectorRegistry()
        registry.register(Moves(queue.board, lambda: now_s))
        found = registry.get_sample_value("queuepool_move_seconds")
        assert found is not None
        return found

    assert lasted(1_060.0) == 60
    assert lasted(900.0) == 0  # its clock is late
    queue.drive()
    assert lasted(1_060.0) == 0


def test_a_move_that_cannot_be_read_is_none(queue: Queue) -> None:
    record = queue.ops.route.read()
    assert record is not None
    server, key = queue.ops.system
    server.run(key, [operate.change_route(record.version, "x", {"move": "{"})])

    queue.mover.look()

    assert values(queue.board)["running"] == 0
