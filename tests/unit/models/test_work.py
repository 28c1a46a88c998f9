"""Completions of mixed tasks, in jobs of equal length."""

from __future__ import annotations

import pytest

from queuepool.models.work import EndedWork, WorkMeter


def test_jobs_of_one_task_count_as_they_are_however_long_they_take() -> None:
    meter = WorkMeter()
    for second, took_s in enumerate((0.1, 0.1, 5.0, 0.1)):
        meter.add([("mail", took_s, 1)] * 10, second)

    assert meter.total.ended == 40
    assert meter.total.equal == pytest.approx(40)


def test_short_jobs_among_long_ones_hardly_count() -> None:
    meter = WorkMeter()
    for second in range(200):
        meter.add([("web", 0.02, 1)] * 100 + [("import", 1.0, 1)] * 20, second)
    before = meter.total
    meter.add([("web", 0.02, 1)] * 100, 200)
    web = meter.total
    meter.add([("import", 1.0, 1)] * 20, 200)

    assert web.equal - before.equal == pytest.approx(100 * 0.02 / (20.04 / 22), rel=0.02)
    assert meter.total.equal - web.equal == pytest.approx(20 / (20.04 / 22), rel=0.02)


def test_tasks_that_become_slower_are_as_much_work_as_before_and_take_longer() -> None:
    meter = WorkMeter()
    for second in range(200):
        meter.add([("a", 0.1, 1)] * 50 + [("b", 0.4, 1)] * 50, second)
    before = meter.total
    meter.add([("a", 0.2, 1)] * 50 + [("b", 0.8, 1)] * 50, 200)
    after = meter.total

    slower = (after.took - before.took) / (after.equal - before.equal)
    assert slower == pytest.approx(2, rel=0.03)


def test_a_sample_counts_for_all_and_nothing_for_nothing() -> None:
    meter = WorkMeter()
    meter.add([], 1)
    assert meter.total == EndedWork(0, 0.0, 0.0)
    meter.add([("a", 0.0, 25)] * 4, 2)
    assert meter.total.ended == 100
    assert (meter.total.equal, meter.total.took) == pytest.approx((100, 100))


def test_of_very_many_tasks_the_last_are_taken_together() -> None:
    meter = WorkMeter()
    meter.add([(f"t{n}", 1.0, 1) for n in range(500)], 1)
    assert meter.total.ended == 500
    assert len(meter._tasks) == 65
