"""The demo's count is honest: what is lost or doubled shows."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from queuepool import PoolConfig, QueuePool
from queuepool.cli.commands.demo.ledger import Ledger, SmallGroup, percentile
from queuepool.cli.commands.demo.load import PARTITIONS, plan_actions
from queuepool.routing.topology import single


def test_what_never_ran_is_lost_and_what_ran_again_is_counted_once(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.expect(["a", "b", "c", "d"])
    (tmp_path / "1.executions").write_text("a 1000\nb 1001\n")
    (tmp_path / "2.executions").write_text("b 1500\nb 1600\nx 1700\n")

    ledger.read()

    assert (ledger.lost, ledger.duplicates, ledger.unexpected) == (2, 1, 1)


def test_a_line_that_is_still_being_written_is_read_later(tmp_path: Path) -> None:
    ledger, path = Ledger(tmp_path), tmp_path / "1.executions"
    ledger.expect(["aa", "bb"])
    path.write_text("aa 1000\nb")
    ledger.read()
    path.write_text("aa 1000\nbb 1001\n")

    ledger.read()

    assert (ledger.lost, ledger.duplicates, ledger.unexpected) == (0, 0, 0)


def test_a_group_waits_until_its_last_job_starts(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.expect_group(SmallGroup(1000, ("a", "b")))
    ledger.expect_group(SmallGroup(5000, ("c",)))
    ledger.expect_group(SmallGroup(6000, ("never",)))
    (tmp_path / "1.executions").write_text("a 1100\nb 1250\nc 5010\n")

    ledger.read()

    assert ledger.waits_s() == [0.01, 0.25]
    assert ledger.waits_s(until_ms=2000) == [0.25]


@given(st.lists(st.floats(0, 10), min_size=1), st.floats(0.01, 1))
def test_a_percentile_is_a_value_that_so_many_do_not_exceed(
    values: list[float], share: float
) -> None:
    ordered = sorted(values)
    value = percentile(ordered, share)

    assert value in ordered
    assert value is not None
    assert sum(v <= value for v in ordered) >= share * len(ordered) - 1e-9


def test_the_bulk_actions_hold_all_items_and_reach_every_partition() -> None:
    config = PoolConfig(topology=single("redis://nowhere", PARTITIONS))
    with QueuePool(config=config, servers={}) as pool:
        actions = plan_actions(pool, 99_999)

        assert sum(action.items for action in actions) == 99_999
        assert {pool.producer.route(a.key).partition for a in actions} == set(range(PARTITIONS))
        assert sum(a.items for a in plan_actions(pool, 3)) == 3
